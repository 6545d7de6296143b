"""Weights are data: read, checked, cited; and scorers of one's own are weighed beside the built-in ones."""

from __future__ import annotations

from collections.abc import Mapping
from mmap import mmap
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from kgdx.case.patient import Case, Finding
from kgdx.errors import ConfigError, UsageError
from kgdx.graph.snapshot import Snapshot
from kgdx.rank import Ranker
from kgdx.rank.case_bank import CaseBank
from kgdx.rank.fusion import Weights
from kgdx.rank.held_out_ranks import Withheld
from kgdx.rank.query import Query
from kgdx.rank.ranking_model import RankModel
from kgdx.rank.retrieval import FUSED, METHODS
from kgdx.rank.scorers import SCORERS, Scorer
from kgdx.registry import Registry
from kgdx.resources import resource
from small_graph import FEVER, FOCAL, SEIZURE, SHORT

SHIPPED = resource("ranking", "weights.yaml")


class Sex(Scorer):
    """Favours candidates by an array of its own, for girls."""

    name: ClassVar[str] = "sex"
    compiled: ClassVar[int] = 0

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Any]:
        cls.compiled += 1
        return {"girls": np.arange(model.columns.size, dtype=np.float32)}

    def score(self, query: Query) -> Any:
        girl = query.case is not None and query.case.sex == "FEMALE"
        return np.asarray(self.arrays["girls"]) * np.float32(girl)


@pytest.fixture
def mixed(snapshot: Snapshot) -> Ranker:
    return Ranker.open(snapshot, {"likelihood": 1.0, "sex": 0.5}, [Sex])


def patient(sex: str) -> Case:
    return Case("p", (Finding(SEIZURE), Finding(SHORT)), sex=sex)


def test_every_built_in_scorer_has_a_weight_and_every_weight_its_source() -> None:
    weights = Weights.read()
    mixed = {name for mix in weights.methods.values() for name in mix.scorers}
    assert set(weights.scorers) | mixed == set(SCORERS.builtin)
    assert set(weights.methods) | {FUSED} == set(METHODS.builtin)
    assert all(len(weight.reference) > 20 for weight in (weights.posterior, *weights.scorers.values()))
    assert all(mix.reference for mix in weights.methods.values())


def test_an_installed_package_adds_a_scorer(
    snapshot: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "kgdx_even-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kgdx-even\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[kgdx.scorers]\neven = kgdx_even:Even\n", encoding="utf-8")
    (tmp_path / "kgdx_even.py").write_text(
        "import numpy as np\n"
        "from kgdx.rank import Scorer\n\n"
        "class Even(Scorer):\n"
        '    name = "even"\n\n'
        "    def score(self, query):\n"
        "        return (np.arange(self.model.columns.size) % 2 == 0).astype(np.float32)\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    unscanned: Registry[Scorer] = Registry(SCORERS.kind, SCORERS.group, SCORERS.builtin)
    monkeypatch.setattr("kgdx.rank.ranker.SCORERS", unscanned)
    found = Ranker.open(snapshot, {"likelihood": 0.0, "even": 1.0}).rank(([SEIZURE], ()))
    assert [candidate.id for candidate in found.candidates[:2]] == ["OMIM:1", "OMIM:3"]


def test_a_scorer_reads_the_case_and_its_own_arrays(mixed: Ranker) -> None:
    girl, boy = (mixed.rank(patient(sex), explain=True) for sex in ("FEMALE", "MALE"))
    parts = {candidate.id: candidate.parts["sex"] for candidate in girl.candidates}
    assert parts["UMLS:2"] == max(parts.values()) > 0 > parts["OMIM:1"]
    assert {candidate.parts["sex"] for candidate in boy.candidates} == {0.0}


def test_a_scorer_without_explanation_is_one_contribution_and_all_add_up(mixed: Ranker) -> None:
    for candidate in mixed.rank(patient("FEMALE"), explain=True).candidates:
        own = [part for part in candidate.contributions if "sex" in part.parts and not part.finding]
        assert [part.rule for part in own] == ["baseline"]
        assert sum(part.score for part in candidate.contributions) == pytest.approx(candidate.score, abs=4e-6)


def test_arrays_are_compiled_once_for_a_snapshot(mixed: Ranker, snapshot: Snapshot) -> None:
    before = Sex.compiled
    again = Ranker.open(snapshot, {"sex": 1.0}, [Sex])
    assert Sex.compiled == before
    assert isinstance(again.scorers["sex"].arrays["girls"].base.base.obj, mmap)


def test_damaged_arrays_are_compiled_again(mixed: Ranker, snapshot: Snapshot) -> None:
    (folder,) = (path.parent for path in snapshot.path.rglob("girls.npy"))
    whole = (folder / "girls.npy").read_bytes()
    (folder / "girls.npy").write_bytes(whole[:10])
    Ranker.open(Snapshot.open(snapshot.path), {"sex": 1.0}, [Sex])
    assert (folder / "girls.npy").read_bytes() == whole


def test_patients_and_withheld_diseases_do_without_a_scorer_that_knows_the_candidates_alone(
    mixed: Ranker, snapshot: Snapshot
) -> None:
    bank = CaseBank(mixed, snapshot)
    case = Case("p", (Finding(FOCAL), Finding(SHORT)), sex="FEMALE")
    best = mixed.rank(case, bank=bank, explain=True).candidates[0]
    assert best.id == "OMIM:3" and set(best.parts) == {"likelihood", "sex", "case_bank"}
    withheld, scored = Withheld(mixed, snapshot), mixed.score(case)
    number = mixed.number_of("OMIM:1")
    column = withheld.without(number, frozenset({"PMID:2"}))
    assert column is not None
    changed = withheld.score(scored, {number: column})
    assert (changed.values["sex"] == scored.values["sex"]).all()
    assert changed.values["likelihood"][number] != scored.values["likelihood"][number]


def test_a_scorer_without_a_weight_is_said_in_one_line(snapshot: Snapshot) -> None:
    with pytest.raises(UsageError, match=r"^the scorer sex has no weight: weighed are likelihood$"):
        Ranker.open(snapshot, {"likelihood": 1.0}, [Sex])


def test_a_weight_without_a_scorer_lists_the_scorers(snapshot: Snapshot) -> None:
    with pytest.raises(UsageError, match=f"no scorer 'hearsay': one of {', '.join(sorted(SCORERS.builtin))}"):
        Ranker.open(snapshot, {"hearsay": 1.0})


@pytest.mark.parametrize(
    ("scores", "shares", "said"),
    [
        (np.full(4, np.nan), np.zeros((2, 4)), "gives scores that are not finite: mend its method `score`"),
        (np.zeros(3), np.zeros((2, 4)), r"gives scores of shape \(3,\), not \(4,\): mend its method `score`"),
        (np.zeros(4), np.zeros((4, 2)), r"explains in the shape \(4, 2\), not \(2, 4\): mend its method `explain`"),
    ],
)
def test_a_scorer_that_gives_what_cannot_be_used_is_named(
    snapshot: Snapshot, scores: Any, shares: Any, said: str
) -> None:
    class Broken(Scorer):
        name: ClassVar[str] = "broken"

        def score(self, query: Query) -> Any:
            return scores

        def explain(self, query: Query, candidates: Any) -> Any:
            return shares

    with pytest.raises(UsageError, match=f"^the scorer broken {said}$"):
        Ranker.open(snapshot, {"broken": 1.0}, [Broken]).rank(patient("MALE"), explain=True)


def test_weights_of_ones_own_replace_the_shipped_ones(ranker: Ranker, snapshot: Snapshot, tmp_path: Path) -> None:
    file = tmp_path / "weights.yaml"
    text = SHIPPED.read_text(encoding="utf-8")
    file.write_text(text.replace("weight: 1.0", "weight: 2.0"), encoding="utf-8")
    numbers = {name: each.weight for name, each in Weights.read().scorers.items()} | {"likelihood": 2.0}
    for given in (file, str(file), numbers):
        other = Ranker.open(snapshot, given)
        one, two = (each.rank(([FEVER], ())).candidates[0].parts for each in (ranker, other))
        assert two == {**one, "likelihood": pytest.approx(2 * one["likelihood"])}
        assert other.digest != ranker.digest
    assert Ranker.open(snapshot, SHIPPED).digest == ranker.digest


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("weight: 0.6", "weight: heavy", "scorers.coverage.weight: .*valid number"),
        ("weight: 0.6", "weight: .inf", "scorers.coverage.weight: .*finite"),
        ("weight: 0.6", "wait: 0.6", "scorers.coverage.weight: Field required"),
        ("leaders: 200", "leaders: 0", "posterior.leaders: .*greater than 0"),
        ("kgdx.weights/1", "kgdx.weights/9", "schema: .*kgdx.weights/1"),
        ("reference: As coverage; from .1, .2, .3.", 'reference: ""', "scorers.typicality.reference: "),
        ("scorers:", "scorers: [", "while parsing|expected"),
    ],
)
def test_a_file_that_is_no_weights_says_where(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = SHIPPED.read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "w.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"w\.yaml cannot be read as weights \((?:{said}).*see ranking/weights.yaml"):
        Weights.read(tmp_path / "w.yaml")


def test_a_missing_file_and_a_weight_that_is_no_number_are_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="none.yaml cannot be read as weights"):
        Weights.read(tmp_path / "none.yaml")
    with pytest.raises(UsageError, match=r"weights of scorers: weight: .*finite number: give each scorer one number"):
        Weights.read({"likelihood": float("nan")})
