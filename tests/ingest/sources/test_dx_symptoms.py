"""The list of normalised symptoms gives the dialogues' symptoms their wordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kgdx.errors import SourceError
from kgdx.ingest.records import Records, minted

Parse = Callable[[str, Path], Records]
Write = Callable[[str, str | bytes], Path]


def test_a_line_is_a_symptom_with_its_wordings(parse: Parse, write: Write) -> None:
    records = parse("dx_symptoms", write("s.txt", "咳嗽\t咳/咳嗽/干咳/干咳\n\n厌食\t拒食/不吃饭\n"))
    assert records.frames["symptom"].drop("_line").rows() == [
        (minted("dx_dialogues", "Symptom", "咳嗽"), "咳嗽", ["咳", "干咳"]),
        (minted("dx_dialogues", "Symptom", "厌食"), "厌食", ["拒食", "不吃饭"]),
    ]


def test_a_line_of_another_form_is_refused(parse: Parse, write: Write) -> None:
    records = parse("dx_symptoms", write("s.txt", b"\xe5\x92\xb3\t\xe5\x92\xb3\nno tab\n\tx\n\xff\xfeab\tx\n"))
    assert records.frames["symptom"].height == 1
    assert records.rejects.select("line", "reason").rows() == [
        (2, "it has no tab after the symptom"),
        (3, "it has no word"),
        (4, "it is not UTF-8 text"),
    ]


def test_a_file_without_a_symptom_is_refused(parse: Parse, write: Write) -> None:
    with pytest.raises(SourceError, match="has no symptom"):
        parse("dx_symptoms", write("s.txt", "咳嗽\n"))


def test_the_real_list_is_read_whole(parse: Parse, shared_data: Path) -> None:
    records = parse("dx_symptoms", shared_data / "dxy-normalised-symptoms.txt")
    assert records.frames["symptom"].height == 41
    assert records.rejects.is_empty()
