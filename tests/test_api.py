"""The public API on a real graph, built from the hand-drawn ontology."""

from __future__ import annotations

import gc
import json
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

import kgdx
from conftest import TINY_FILES, require_module
from kgdx import api
from kgdx.actions import Extract, Match, Rank, Retrieve
from kgdx.answer.artifacts import Retrieved
from kgdx.case import Case, Finding, Status
from kgdx.episode import Policy, State, Wish, step
from kgdx.errors import CaseError, ConfigError, KgdxError, StoreError, StoreLockedError, TemplateError, UsageError
from kgdx.ingest.pipeline.graph_folder import GraphFolder
from kgdx.policies import FixedPolicy
from kgdx.policies.rerank import RerankPolicy
from kgdx.resources import resource
from kgdx.terms.names.sssom import MappingStatement

DISEASE = "OMIM:100001"


@pytest.fixture(scope="module")
def built(tiny_graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(tiny_graph, tmp_path_factory.mktemp("graph") / "tiny"))


@pytest.fixture
def graph(built: Path) -> Any:
    with kgdx.open(built) as opened:
        yield opened


@pytest.mark.parametrize("form", ["phenopacket", "path", "terms", "plain"])
def test_a_case_may_come_in_any_form(graph: kgdx.Graph, tiny: Path, form: str) -> None:
    forms: dict[str, Any] = {
        "phenopacket": json.loads((tiny / "phenopacket.json").read_text()),
        "path": tiny / "phenopacket.json",
        "terms": ["HP:0001250", "low muscle tone"],
        "plain": {"observed": ["HP:0001275", "HP:0006824"]},
    }
    diagnosis = graph.diagnose(forms[form])
    assert diagnosis.case.observed == ("HP:0001250", "HP:0001252")
    assert diagnosis.candidates[0].id == DISEASE


def test_who_the_patient_is_counts_and_is_told_in_every_form(graph: kgdx.Graph) -> None:
    plain = graph.diagnose("A girl with hypotonia.")
    found = graph.diagnose("A girl with hypotonia.", age=3, onset="congenital", genes=["GENB", "GENX"])
    assert (found.case.sex, found.case.age, found.case.onset) == ("FEMALE", "P3Y", "HP:0003577")
    assert found.candidate("OMIM:100002").score > plain.candidate("OMIM:100002").score
    assert "its gene GENB is among 2 candidate genes" in found.to_html()
    assert [issue.where for issue in found.issues if "GENX" in issue.message] == ["GENX"]
    again = graph.explain(found, "OMIM:100002")
    assert again.candidate("OMIM:100002").score == pytest.approx(found.candidate("OMIM:100002").score)


def test_an_unknown_statement_of_a_patient_is_refused(graph: kgdx.Graph) -> None:
    with pytest.raises(UsageError, match="nothing is called 'weight'"):
        graph.diagnose("hypotonia", weight=3)  # type: ignore[call-arg]
    with pytest.raises(CaseError, match="age '400' is no age"):
        graph.diagnose("hypotonia", age=400)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("She is well.", "no finding was recognised"),
        ("", "the text is empty"),
        (["HP:7654321"], "HP:7654321 is not in this graph's ontology"),
        (["Siezures of the xyzzy"], "did you mean Seizure"),
        ({"phenotypicFeatures": []}, "no phenotypicFeatures"),
        ({"observed": ["HP:7654321"]}, "unknown term 'HP:7654321'"),
        ({"observed": 7}, "not a list of strings"),
        (Case("p", (Finding("HP:0001250", Status.ABSENT),)), "no observed finding"),
    ],
)
def test_bad_input_is_refused_in_one_line(graph: kgdx.Graph, given: Any, message: str) -> None:
    with pytest.raises(CaseError, match=message) as caught:
        graph.diagnose(given)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 7


@pytest.mark.parametrize(
    "text", ["seizure \"x' \\", "seizure'}) DETACH DELETE n //", "seizure 💥 \u202e发热 \x00 \ud800"]
)
def test_quotes_cypher_and_odd_characters_harm_nothing(graph: kgdx.Graph, text: str) -> None:
    before = graph.status()
    assert "HP:0001250" in graph.diagnose(text).case.observed
    assert graph.status() == before


def test_every_disease_can_be_ranked_at_once(graph: kgdx.Graph) -> None:
    assert graph.diagnose(["HP:0001250"], top=100_000).candidates


def test_settings_that_cannot_be_right_are_refused(graph: kgdx.Graph) -> None:
    with pytest.raises(UsageError, match="top is 0"):
        graph.diagnose(["HP:0001250"], top=0)
    with pytest.raises(UsageError, match="ask for 1 to 100,000"):
        graph.diagnose(["HP:0001250"], top=100_001)
    with pytest.raises(UsageError, match="no policy"):
        graph.diagnose(["HP:0001250"], policy="oracle")


@pytest.mark.parametrize(
    ("case", "settings", "says"),
    [
        (None, {}, "a case is given by NoneType: give words, terms, a Path or a Case"),
        (["HP:0001250", 5], {}, "a case is given by int"),
        ("seizures", {"top": "3"}, "top is 3"),
        ("seizures", {"top": None}, "top is None"),
        ("seizures", {"explain": -1}, "explain is -1"),
        ("seizures", {"policy": RerankPolicy}, r"RerankPolicy is no policy: .*RerankPolicy\(\)"),
        ("seizures", {"policy": 5}, "int is no policy"),
        ("seizures", {"rerank": "m"}, "nothing is called 'rerank'"),
    ],
)
def test_arguments_of_another_type_are_refused_in_a_line(
    graph: kgdx.Graph, case: Any, settings: dict[str, Any], says: str
) -> None:
    with pytest.raises(KgdxError, match=says) as caught:
        graph.diagnose(case, **settings)
    assert "\n" not in str(caught.value)


def test_explain_finds_a_disease_wherever_it_stands(graph: kgdx.Graph) -> None:
    last = graph.diagnose(["HP:0001250"], top=10).candidates[-1]
    diagnosis = graph.explain(graph.diagnose(["HP:0001250"], top=1), last.id, top=1)
    assert diagnosis.candidate(last.id).rank == last.rank
    assert last.id in diagnosis.evidence
    with pytest.raises(UsageError, match="OMIM:9"):
        graph.explain(["HP:0001250"], "OMIM:9")


def test_explaining_is_asked_for(graph: kgdx.Graph) -> None:
    assert graph.diagnose(["HP:0001250"]).evidence == {}
    whole = graph.diagnose(["HP:0001250"], explain=10)
    assert set(whole.evidence) == {candidate.id for candidate in whole.candidates}
    first = graph.diagnose(["HP:0001250"], explain=1)
    assert list(first.evidence) == [first[0].id]
    assert graph.explain(first, first[-1].id).paths(first[-1].id) == whole.paths(first[-1].id)


def test_a_disease_is_explained_by_its_name(graph: kgdx.Graph) -> None:
    named = graph.explain(["HP:0001250"], "tiny epilepsy syndrome 1, autosomal recessive")
    assert named.evidence == graph.explain(["HP:0001250"], "OMIM:100001").evidence
    with pytest.raises(UsageError, match="did you mean .*OMIM:100001"):
        graph.explain(["HP:0001250"], "epilepsy syndrome")


def test_nodes_are_found_by_what_people_call_them(graph: kgdx.Graph) -> None:
    found = graph.search("seizure")
    assert found.row(0, named=True) | {"score": 1} == {
        "id": "HP:0001250",
        "kind": "Phenotype",
        "name": "Seizure",
        "source": found["source"][0],
        "matched": "Seizure",
        "method": "exact",
        "relation": "exact",
        "score": 1,
    }
    assert graph.search("seizure", "Drug").is_empty()
    assert len(graph.search("s", limit=2)) == 2
    with pytest.raises(UsageError, match="kinds are Disease, Phenotype"):
        graph.search("seizure", "Publication")
    with pytest.raises(UsageError, match="nothing to search for"):
        graph.search(" ")


def test_a_name_of_a_file_is_no_patient(graph: kgdx.Graph, tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"'patient.json' is the name of a file: read it with `pathlib.Path"):
        graph.diagnose("patient.json")
    with pytest.raises(CaseError, match="no such file"):
        graph.diagnose(tmp_path / "patient.json")


def test_a_diagnosis_is_a_sequence_of_candidates_with_a_short_form(graph: kgdx.Graph) -> None:
    diagnosis = graph.diagnose("Ada has seizures")
    assert len(diagnosis) == len(list(diagnosis)) == len(diagnosis.candidates)
    assert diagnosis[0] is diagnosis.candidates[0]
    assert repr(diagnosis).startswith(f"<Diagnosis of {diagnosis.case.id}: 3 of 3 candidates, first OMIM:100001")
    assert "Ada" not in repr(diagnosis)
    assert kgdx.Diagnosis(Case("p"))


def test_a_plot_has_a_bar_for_each_candidate_that_ends_at_its_score(graph: kgdx.Graph) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="needs kgdx[plot]")
    matplotlib.use("agg")
    diagnosis = graph.diagnose(["HP:0001250", "HP:0001252"])
    axes = diagnosis.plot(top=2)
    assert [label.get_text()[:2] for label in axes.get_yticklabels()] == ["1.", "2."]
    widths = [sum(bars[place].get_width() for bars in axes.containers) for place in range(2)]
    assert widths == pytest.approx([diagnosis[0].score, diagnosis[1].score])


def test_the_weights_of_the_settings_rank(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = resource("ranking", "weights.yaml").read_text(encoding="utf-8")
    weights = tmp_path / "weights.yaml"
    weights.write_text(shipped.replace("weight: 1.0", "weight: 3.0"), encoding="utf-8")
    parts = []
    for name in ("", str(weights)):
        monkeypatch.setenv("KGDX_RANK_WEIGHTS", name)
        with kgdx.open(built) as opened:
            parts.append(opened.diagnose(["HP:0001250"], explain=0).candidate(DISEASE).parts["likelihood"])
    assert parts[1] == pytest.approx(3 * parts[0])
    monkeypatch.setenv("KGDX_RANK_WEIGHTS", str(tmp_path / "none.yaml"))
    with kgdx.open(built) as opened, pytest.raises(ConfigError, match="none.yaml cannot be read as weights"):
        opened.diagnose(["HP:0001250"])


def test_what_was_not_explained_says_how_to_get_it(graph: kgdx.Graph) -> None:
    diagnosis = graph.diagnose(["HP:0001250"], explain=0)
    with pytest.raises(UsageError, match="was not explained"):
        diagnosis.paths(DISEASE)
    with pytest.raises(UsageError, match="not among the"):
        diagnosis.paths("OMIM:9")


def test_table_and_pandas_hold_the_ranking(graph: kgdx.Graph) -> None:
    diagnosis = graph.diagnose(["HP:0001250", "HP:0001252"])
    table = diagnosis.table()
    assert table["id"].to_list() == [candidate.id for candidate in diagnosis.candidates]
    assert table["rank"].to_list() == list(range(1, len(table) + 1))
    assert set(table["findings_for"][0].split("|")) <= {"HP:0001250", "HP:0001252"}


def test_equal_input_gives_an_equal_diagnosis(graph: kgdx.Graph) -> None:
    first, second = (graph.diagnose(["HP:0001250", "HP:0001252"]) for _ in range(2))
    assert first.to_dict(trace=False) == second.to_dict(trace=False)
    assert first.trace == second.trace
    assert first.id == second.id


def test_a_failing_explanation_leaves_the_ranking(graph: kgdx.Graph) -> None:
    class RankThenBreak(Policy):
        name: ClassVar[str] = "broken"

        def choose(self, state: State) -> Wish:
            return (Extract(), Rank(), Retrieve(template="no_such_template"))[state.counts.steps]

    diagnosis = graph.diagnose(["HP:0001250"], policy=RankThenBreak())
    assert diagnosis.reason == "error"
    assert diagnosis.candidates
    assert "no_such_template" in diagnosis.issues[-1].message


def test_templates_run_by_name_as_rows_or_frame(graph: kgdx.Graph) -> None:
    rows = graph.run("disease_by_id", disease=DISEASE)
    frame = graph.frame("disease_by_id", disease=DISEASE)
    assert frame["id"].to_list() == [row["id"] for row in rows] == [DISEASE]
    assert graph.frame("disease_by_id", disease="OMIM:9").columns == frame.columns
    with pytest.raises(TemplateError):
        graph.run("delete_case", case_id="x")


@pytest.fixture
def own(tiny: Path, tmp_path: Path) -> Path:
    kgdx.build({name: str(tiny / TINY_FILES[name]) for name in ("hp", "hpoa", "genes")}, store=tmp_path / "own")
    return tmp_path / "own"


def test_saving_writes_case_run_and_candidates_once(own: Path) -> None:
    with kgdx.open(own) as graph:
        diagnosis = graph.diagnose("seizures, no fever")
        run = kgdx.save(diagnosis, graph)
        once = graph.status()
        assert kgdx.save(diagnosis, graph) == run
        assert graph.status() == once
        (row,) = graph.run("run_by_id", run_id=run)
        findings = graph.run("case_findings", case_id=row["case_id"])
        assert {(found["relation"], found["id"]) for found in findings} == {
            ("OBSERVED", "HP:0001250"),
            ("EXCLUDED", "HP:0001945"),
        }
        considered = graph.run("run_candidates", run_id=run)
        assert [each["id"] for each in considered] == [candidate.id for candidate in diagnosis.candidates]
        (case,) = graph.run("case_by_id", case_id=row["case_id"])
        assert case["text"] is None
        assert "seizures" not in json.dumps(graph.run("case_findings", case_id=row["case_id"]))


def test_a_patient_who_is_saved_is_matched_at_once(own: Path) -> None:
    with kgdx.open(own) as graph:
        near = [{"asked": 0, "id": "HP:0001250", "similarity": 10_000}]
        question = {"near": near, "asked": 1, "without": [], "publications": [], "limit": 5}
        compiled = graph.compiled
        assert compiled.run("similar_cases", **question) == []
        (row,) = graph.run("run_by_id", run_id=kgdx.save(graph.diagnose("seizures, no fever"), graph))
        found = compiled.run("similar_cases", **question)
        assert [each["id"] for each in found] == [row["case_id"]]
        assert found == graph.run("similar_cases", **question)


def test_a_saved_run_is_replayed_from_the_graph(own: Path) -> None:
    with kgdx.open(own) as graph:
        run = graph.save(graph.diagnose(["HP:0001250", "HP:0001252"], explain=3))
    with kgdx.open(own) as graph:
        replayed = graph.replay(run)
        assert replayed[0].template == "evidence_supporting"
        assert all(again.same for again in replayed)
        with pytest.raises(UsageError, match="no saved run"):
            graph.replay("run:none")


def test_a_saved_case_is_no_patient_like_itself(own: Path) -> None:
    with kgdx.open(own) as graph:
        diagnosis, other = graph.diagnose("seizures"), graph.diagnose(["HP:0001250", "HP:0001252"])
        graph.save(diagnosis)
        alone, matched = (step(graph, State(each.case), Match()) for each in (diagnosis, other))
        assert alone.all(Retrieved)[0].rows == ()
        assert [row["matched"][0] for row in matched.all(Retrieved)[0].rows] == ["HP:0001250"]


def test_the_text_is_stored_only_when_asked_for(own: Path) -> None:
    with kgdx.open(own) as graph:
        diagnosis = graph.diagnose("seizures")
        graph.save(diagnosis, text=True)
        (row,) = graph.run("run_by_id", run_id=diagnosis.id)
        (case,) = graph.run("case_by_id", case_id=row["case_id"])
        assert case["text"] == "seizures"
        graph.save(diagnosis)
        (case,) = graph.run("case_by_id", case_id=row["case_id"])
        assert case["text"] is None


def test_a_diagnosis_of_another_graph_is_refused_and_nothing_is_written(own: Path) -> None:
    with kgdx.open(own) as graph:
        before = graph.status()
        diagnosis = graph.diagnose(["HP:0001250"])
        strange = replace(diagnosis.candidates[0], id="OMIM:999999")
        with pytest.raises(StoreError, match="OMIM:999999 is not in this graph"):
            graph.save(replace(diagnosis, candidates=(strange,)))
        assert graph.status() == before
        assert graph.diagnose(["HP:0001250"]).candidates


def test_saving_waits_for_no_other_reader_longer_than_set_and_says_so(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGDX_SAVE_WAIT", "0")
    with kgdx.open(own) as graph, kgdx.open(own) as other:
        diagnosis = graph.diagnose(["HP:0001250"])
        with pytest.raises(StoreLockedError):
            graph.save(diagnosis)
        assert other.diagnose(["HP:0001250"]).id == diagnosis.id


def test_saved_cases_survive_a_rebuild(own: Path, tiny: Path) -> None:
    with kgdx.open(own) as graph:
        run = graph.save(graph.diagnose(Case("mine", (Finding("HP:0001250"),), sex="a boy")))
    kgdx.build({name: str(tiny / TINY_FILES[name]) for name in ("hp", "hpoa", "genes")}, store=own)
    with kgdx.open(own) as graph:
        assert all(again.same for again in graph.replay(run))
        ((saved,), (user,)) = graph.run("run_by_id", run_id=run), [s for s in graph.run("sources") if s["id"] == "user"]
        (case,) = graph.run("case_by_id", case_id=saved["case_id"])
        assert (case["label"], case["sex"], user["quarantined"]) == ("mine", "UNKNOWN", 0)


def test_a_graph_that_was_rebuilt_meanwhile_is_opened_anew_by_a_save(own: Path, tiny: Path) -> None:
    with kgdx.open(own) as graph:
        diagnosis, before = graph.diagnose(["HP:0001250"]), graph.fingerprint
        kgdx.build({name: str(tiny / TINY_FILES[name]) for name in ("hp", "hpoa")}, store=own)
        assert graph.fingerprint == before, "a reader keeps its build"
        run = graph.save(diagnosis)
        (build,) = graph.run("build")
        assert graph.fingerprint == build["fingerprint"] != before
        (saved,) = graph.run("run_by_id", run_id=run)
        assert saved["fingerprint"] == before, "the run names the graph that it rests on"


def test_a_closed_graph_says_so(built: Path) -> None:
    graph = kgdx.open(built)
    graph.close()
    with pytest.raises(StoreError, match="is closed"):
        graph.run("build")


def test_a_diagnosis_stands_when_the_store_is_lost_after_its_evidence(
    graph: kgdx.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(_: object) -> None:
        raise StoreError("the server is gone")

    monkeypatch.setattr(kgdx.Graph, "sources", lost)
    diagnosis = graph.diagnose(["HP:0001250"], explain=1)
    assert diagnosis.evidence and diagnosis.fingerprint == graph.fingerprint
    assert diagnosis.sources == ()


def test_closing_a_graph_closes_the_index_of_its_names(built: Path) -> None:
    with kgdx.open(built) as graph:
        names = graph.names
        assert names.resolve("seizure", ("Phenotype",)).ids
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        names.resolve("seizure", ("Phenotype",))


def test_public_names_are_all_there_and_loaded_only_when_used() -> None:
    code = "import kgdx, sys; assert 'pydantic' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert set(kgdx.__all__) < set(dir(kgdx))
    for name in kgdx.__all__:
        assert getattr(kgdx, name).__doc__
    assert kgdx.__version__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = kgdx.nothing


def test_to_pandas_gives_the_table_or_names_the_extra(graph: kgdx.Graph) -> None:
    from importlib.util import find_spec

    diagnosis = graph.diagnose(["HP:0001250"])
    if find_spec("pandas") is None:
        with pytest.raises(KgdxError, match=r'pip install "kgdx\[pandas\]"'):
            diagnosis.to_pandas()
    else:
        assert diagnosis.to_pandas()["id"].tolist() == diagnosis.table()["id"].to_list()


def test_other_patients_count_unless_they_shall_not_and_never_the_patients_own(tiny: Path, tmp_path: Path) -> None:
    sources = {name: str(tiny / file) for name, file in TINY_FILES.items()} | {
        "phenopackets": str(tiny / "phenopacket.json")
    }
    kgdx.build(sources, store=tmp_path / "graph")
    with kgdx.open(tmp_path / "graph") as graph:
        terms = ["HP:0001250", "HP:0001252"]
        assert all(candidate.cases == () for candidate in graph.diagnose(terms, case_bank=False).candidates)
        document = graph.diagnose(terms).to_dict()
        assert document["candidates"][0]["id"] == DISEASE
        (match,) = document["candidates"][0]["cases"]
        assert match["shared"] == terms
        explained = graph.explain(terms, DISEASE).candidate(DISEASE)
        assert [case.id for case in explained.cases] == [match["id"]]
        own = graph.diagnose(tiny / "phenopacket.json")
        assert all(candidate.cases == () for candidate in own.candidates)


def test_other_patients_are_asked_of_a_graph_that_has_them(graph: kgdx.Graph) -> None:
    with pytest.raises(StoreError, match="holds no patient case with a diagnosis"):
        graph.diagnose(["HP:0001250"], case_bank=True)
    with pytest.raises(UsageError, match="goes with the name of a policy"):
        graph.diagnose(["HP:0001250"], policy=FixedPolicy(), case_bank=True)


def test_a_decision_needs_a_graph(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no graph"):
        api.decide([MappingStatement("OMIM:1", "exact", "MESH:D000001")], store=tmp_path / "none")


@pytest.mark.parametrize("loaded", ["", "torch"])
def test_a_graph_that_nobody_closes_ends_without_a_word(built: Path, loaded: str) -> None:
    """Extension modules such as torch's keep Python modules alive, which the interpreter then empties at its end."""
    if loaded:
        require_module(loaded, "local")
    code = f"""
        import contextlib, ctypes, os, sys
        import kgdx, kgdx.ingest.pipeline.graph_folder
        {f"import {loaded}" if loaded else ""}
        os.graph = kgdx.open(sys.argv[1])
        os.graph.run("sources")
        for module in (os, contextlib, kgdx.ingest.pipeline.graph_folder):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(module))
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(built)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with GraphFolder(built).writing():
        """Nobody holds it any more."""


def test_a_graph_that_is_forgotten_lets_writers_in(own: Path) -> None:
    graph = kgdx.open(own)
    graph.snapshot  # noqa: B018 - opened
    del graph
    gc.collect()
    with GraphFolder(own).writing(0.0):
        """Nobody holds it any more."""
