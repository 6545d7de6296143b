"""What each action asks of the graph and leaves in the state; every look-up is a template on the store."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kgdx
from actions.fakes import DISEASE, FOCAL, MEMBER, NERVOUS, SEIZURE, row
from episode.states import holding, state_of
from kgdx.actions import Explain, Extract, Match, Rank, Retrieve
from kgdx.actions.server_snapshot import KEPT_SNAPSHOTS, UNFINISHED_S, prune_snapshots
from kgdx.answer.artifacts import Ranked, Read, Retrieved, evidence_of, ranking_of
from kgdx.answer.saved_runs import case_key
from kgdx.case import Case, Finding, Status
from kgdx.episode import State, replay, step
from kgdx.episode.operations import Operations
from kgdx.errors import CaseError, StoreError, UsageError
from kgdx.graph.protocol import digest
from kgdx.results.ranked import Contribution


def read(*findings: Finding) -> State:
    return state_of(Case("p", findings or (Finding(SEIZURE),)), read=True)


def test_extract_reads_text_once(graph: Any) -> None:
    state = step(graph, State(Case("p", text="a seizure")), Extract())
    assert (state.case.observed, state.get(Read) is not None) == ((SEIZURE,), True)
    again = step(graph, state, Extract())
    assert (again.case, again.counts.stagnant) == (state.case, 1)


def test_extract_refuses_a_text_without_findings(graph: Any) -> None:
    with pytest.raises(CaseError, match="no finding was recognised"):
        step(graph, State(Case("p", text="well")), Extract())


def test_rank_drops_the_evidence_of_an_older_ranking(graph: Any) -> None:
    state = step(graph, step(graph, read(), Rank()), Explain())
    assert evidence_of(state)
    graph.contributions = ()
    graph.score = 2.0
    assert not evidence_of(step(graph, state, Rank(top=3)))


def test_explain_asks_for_merged_entries_and_shows_them_under_the_candidate(graph: Any) -> None:
    graph.answers["evidence_supporting"] = [row(SEIZURE, [SEIZURE], "exact", disease=MEMBER)]
    state = step(graph, step(graph, read(), Rank()), Explain())
    assert graph.asked[0][1]["diseases"] == [DISEASE, MEMBER]
    (path,) = evidence_of(state)[DISEASE]
    assert path.nodes[-1].id == MEMBER


def test_explain_takes_any_disease_by_name_of_its_id(graph: Any) -> None:
    graph.answers["evidence_supporting"] = [row(SEIZURE, [SEIZURE], "exact", disease="OMIM:5")]
    state = step(graph, read(), Explain(diseases=("OMIM:5",)))
    assert graph.asked[0][1]["diseases"] == ["OMIM:5"]
    assert [path.nodes[-1].id for path in evidence_of(state)["OMIM:5"]] == ["OMIM:5"]


def test_rank_matches_with_other_patients_unless_it_shall_not(graph: Any) -> None:
    state = step(graph, read(), Rank(case_bank=False))
    step(graph, state, Rank(case_bank=True))
    assert graph.banks == [None, graph.bank]
    assert [ran.parameters["case_bank"] for segment in state.log for ran in segment.operations] == [False]


def test_explain_without_ranking_or_disease_is_refused(graph: Any) -> None:
    with pytest.raises(UsageError, match="nothing to explain"):
        step(graph, read(), Explain())


def paths(graph: Any, *findings: Finding) -> list[Any]:
    state = step(graph, step(graph, read(*findings), Rank()), Explain())
    return list(evidence_of(state)[DISEASE])


def test_support_goes_from_the_patient_to_the_disease(graph: Any) -> None:
    (path,) = paths(graph)
    assert [node.label for node in path.nodes] == ["PatientCase", "Phenotype", "Disease"]
    assert [(edge.type, edge.reversed) for edge in path.relations] == [("OBSERVED", False), ("HAS_PHENOTYPE", True)]
    assert (path.kind, path.frequency, path.references) == ("supports", "3 of 4", ("PMID:1", "PMID:2"))
    assert path.relations[-1].properties["numerator"] == 3


@pytest.mark.parametrize(("direction", "reversed"), [("ancestor", False), ("descendant", True)])
def test_steps_of_the_ontology_keep_their_direction(graph: Any, direction: str, reversed: bool) -> None:
    graph.answers["evidence_supporting"] = [row(SEIZURE, [SEIZURE, NERVOUS], direction)]
    (path,) = paths(graph)
    assert (path.relations[1].type, path.relations[1].reversed) == ("IS_A", reversed)


def test_only_the_nearest_annotations_of_a_finding_are_shown(graph: Any) -> None:
    exact = [row(SEIZURE, [SEIZURE], "exact", reference=f"PMID:{n}") for n in (1, 2)]
    graph.answers["evidence_supporting"] = [row(SEIZURE, [SEIZURE, NERVOUS], "ancestor"), *exact]
    assert [path.references for path in paths(graph)] == [("PMID:1",), ("PMID:2",)]


def test_a_shared_ancestor_is_passed_upwards_then_downwards(graph: Any) -> None:
    graph.answers["evidence_supporting"] = []
    graph.contributions = (Contribution("shared", 0.2, SEIZURE, Status.PRESENT, {"s": 0.2}, "HP:0001252", NERVOUS),)
    shared = row(SEIZURE, ["HP:0001252"], "", via=NERVOUS)
    for part, chain in (("finding", [SEIZURE, NERVOUS]), ("phenotype", ["HP:0001252", NERVOUS])):
        shared |= {f"{part}_path_ids": chain, f"{part}_path_names": chain}
    graph.answers["evidence_shared"] = [shared, {**shared, "via": "HP:0000118"}]
    (path,) = paths(graph)
    assert [node.id for node in path.nodes[1:-1]] == [SEIZURE, NERVOUS, "HP:0001252"]
    assert [edge.reversed for edge in path.relations] == [False, False, True, True]


def test_shared_ancestors_are_looked_up_for_the_findings_that_help_most(graph: Any) -> None:
    graph.answers["evidence_supporting"] = []
    ids = [f"HP:{number:07}" for number in range(500)]
    graph.contributions = tuple(
        Contribution("shared", at / 100 - 1.0, id, Status.PRESENT, {"s": at / 100 - 1.0}, "HP:0001252", NERVOUS)
        for at, id in enumerate(ids)
    )
    paths(graph, *map(Finding, ids))
    (asked,) = [parameters for name, parameters in graph.asked if name == "evidence_shared"]
    assert asked["findings"] == ids[-20:]
    graph.asked.clear()
    graph.contributions = graph.contributions[:101]  # none of these helps
    paths(graph, *map(Finding, ids))
    assert "evidence_shared" not in [name for name, _ in graph.asked]


@pytest.mark.parametrize(("each", "queries"), [(1, 1), (20, 2)])
def test_many_findings_are_asked_for_one_candidate_after_the_other(graph: Any, each: int, queries: int) -> None:
    graph.answers["evidence_supporting"] = []
    state = step(graph, read(), Rank())
    ranking = ranking_of(state)
    assert ranking is not None
    candidates = [
        replace(
            ranking.candidates[0],
            id=disease,
            members=(disease,),
            contributions=tuple(
                Contribution("shared", 0.2, f"HP:{first + at:07}", Status.PRESENT, {"s": 0.2}, "HP:0001252", NERVOUS)
                for at in range(each)
            ),
        )
        for disease, first in ((DISEASE, 0), (MEMBER, 100))
    ]
    step(graph, holding(state, Ranked(replace(ranking, candidates=tuple(candidates)))), Explain())
    asked = [parameters for name, parameters in graph.asked if name == "evidence_shared"]
    assert len(asked) == queries
    assert {disease for parameters in asked for disease in parameters["diseases"]} == {DISEASE, MEMBER}


def test_what_a_scorer_compares_is_not_asked_for_where_a_direct_path_exists(graph: Any) -> None:
    graph.contributions = (Contribution("shared", 0.2, SEIZURE, Status.PRESENT, {"s": 0.2}, "HP:0001252", NERVOUS),)
    paths(graph)
    assert "evidence_shared" not in [name for name, _ in graph.asked]


def test_an_excluded_finding_that_the_disease_has_speaks_against_it(graph: Any) -> None:
    graph.answers["evidence_against"] = [row(SEIZURE, [SEIZURE, FOCAL], "descendant", relation="HAS_PHENOTYPE")]
    path = paths(graph, Finding("HP:0001945"), Finding(SEIZURE, Status.ABSENT))[-1]
    assert path.kind == "against"
    assert [edge.type for edge in path.relations] == ["EXCLUDED", "IS_A", "HAS_PHENOTYPE"]


def test_an_observed_finding_that_is_annotated_absent_speaks_against_it(graph: Any) -> None:
    graph.answers["evidence_against"] = [row(SEIZURE, [SEIZURE], "exact", relation="LACKS_PHENOTYPE")]
    path = paths(graph)[-1]
    assert [edge.type for edge in path.relations] == ["OBSERVED", "LACKS_PHENOTYPE"]


def test_typical_leaves_out_what_is_mentioned_implied_or_a_detail(graph: Any) -> None:
    others = [row("", [id], "exact") for id in (SEIZURE, NERVOUS, FOCAL, "HP:0001252", "HP:0001252", "HP:0001945")]
    graph.answers["evidence_typical"] = [*others, row("", ["HP:1"], "exact", numerator=4)]
    found = [path for path in paths(graph) if path.kind == "typical_unmentioned"]
    assert [path.finding for path in found] == ["HP:1", "HP:0001252", "HP:0001945"]


def test_match_uses_the_observed_findings(graph: Any) -> None:
    state = step(graph, read(), Match(limit=3))
    assert [found.template for found in state.all(Retrieved)] == ["similar_cases"]
    ((_, matched),) = graph.asked
    without = ["p", case_key(state.case)]
    near = [{"asked": 0, "id": SEIZURE, "similarity": 10_000}]
    assert matched == {"near": near, "asked": 1, "without": without, "publications": [], "limit": 3}


def test_retrieve_refuses_an_unknown_template(graph: Any) -> None:
    with pytest.raises(UsageError, match="no template 'delete_everything'"):
        step(graph, read(), Retrieve(template="delete_everything"))


def test_replay_runs_the_queries_again_and_proves_them_equal(graph: Any) -> None:
    state = step(graph, step(graph, read(), Rank()), Explain())
    assert [again.same for again in replay(state.log, graph)] == [True, True, True]


def test_replay_notices_other_rows_and_missing_templates(graph: Any) -> None:
    state = step(graph, step(graph, read(), Rank()), Explain())
    graph.answers["evidence_supporting"][0]["frequency"] = "4/4"
    del graph.answers["evidence_typical"]
    changed, same, missing = replay(state.log, graph)
    assert (changed.same, changed.rows, changed.recorded) == (False, 1, 1)
    assert same.same
    assert (missing.same, missing.rows) == (False, None)
    assert "evidence_typical" in missing.error


def test_digest_ignores_order_but_not_content() -> None:
    rows: list[dict[str, Any]] = [{"id": "a", "n": 0.1 + 0.2, "ids": ["x", "y"]}, {"id": "b", "n": None, "ids": []}]
    turned: list[dict[str, Any]] = [rows[1], {"ids": ["y", "x"], "n": 0.3, "id": "a"}]
    assert digest(rows) == digest(turned)
    assert digest(rows) != digest(rows[:1])
    assert digest([{"id": "a"}]) != digest([{"id": "b"}])


def test_every_template_runs_on_the_store_and_gives_the_same_rows(
    tiny_graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    with kgdx.open(tiny_graph) as sooner, kgdx.open(tiny_graph, on_store=True) as there:
        disease = sooner.diagnose("seizures", top=1).candidates[0].id
        compiled = Operations(sooner).query("phenotypes_of_diseases", diseases=[disease], limit=5)
        run = type(there.store).run

        def watched(store: object, name: str, /, **parameters: object) -> object:
            asked.append(name)
            return run(store, name, **parameters)  # type: ignore[arg-type]

        monkeypatch.setattr(type(there.store), "run", watched)
        rows = Operations(there).query("phenotypes_of_diseases", diseases=[disease], limit=5)
        assert asked == ["phenotypes_of_diseases"]
        assert list(rows) == list(compiled) != []
        assert sooner.compiled.has("phenotypes_of_diseases") and not there.compiled.has("phenotypes_of_diseases")
        with pytest.raises(StoreError, match="no compiled form here"):
            there.compiled.run("phenotypes_of_diseases", diseases=[disease], limit=5)


def test_a_diagnosis_is_the_same(tiny_graph: Path) -> None:
    results = []
    for on_store in (False, True):
        with kgdx.open(tiny_graph, on_store=on_store) as graph:
            found = graph.diagnose("seizures and low muscle tone, no fever")
            results.append([(each.id, each.score) for each in found.candidates])
    assert results[0] == results[1] != []


def used(folder: Path, name: str, seconds_ago: float, now: float) -> Path:
    made = folder / name
    made.mkdir()
    (made / "disease.arrow").touch()
    os.utime(made, (now - seconds_ago, now - seconds_ago))
    return made


def test_snapshots_used_longest_ago_go(tmp_path: Path) -> None:
    now = tmp_path.stat().st_mtime
    new = used(tmp_path, "new", 1000, now)
    others = [used(tmp_path, f"{age}", age, now) for age in range(1, 6)]
    prune_snapshots(tmp_path, new)
    assert {path.name for path in tmp_path.iterdir()} == {"new", *(path.name for path in others[: KEPT_SNAPSHOTS - 1])}


def test_an_interrupted_compilation_goes_and_one_that_runs_stays(tmp_path: Path) -> None:
    now = tmp_path.stat().st_mtime
    new, running = used(tmp_path, "new", 0, now), used(tmp_path, ".a.1", 60, now)
    used(tmp_path, ".a.2", UNFINISHED_S + 60, now)
    prune_snapshots(tmp_path, new)
    assert set(tmp_path.iterdir()) == {new, running}
