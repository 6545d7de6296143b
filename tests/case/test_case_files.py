"""Any kept form of file gives its cases; a bad line is a failure that names its place and loses nothing else."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from kgdx.case import Case, Failure, case_files, case_from_document, case_to_json, one_case, parse_cases, read_cases
from kgdx.errors import CaseError

PLAIN = {"id": "a", "observed": ["HP:0001250"], "excluded": ["HP:0001945"], "diseases": ["OMIM:1"]}
PACKET = {"id": "b", "phenotypicFeatures": [{"type": {"id": "HP:0001250"}}]}
OSCE = {"OSCE_Examination": {"Patient_Actor": {"History": "Ptosis.", "Demographics": "2-month-old boy"}}}


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: Path) -> list[Case]:
    cases = list(read_cases(path))
    assert not [case for case in cases if isinstance(case, Failure)]
    return [case for case in cases if isinstance(case, Case)]


def lines(*documents: object) -> str:
    return "\n".join(json.dumps(document) for document in documents)


def test_json_lines_of_mixed_forms(tmp_path: Path) -> None:
    cases = read(written(tmp_path / "c.jsonl", lines(PLAIN, PACKET, OSCE, {"id": "t", "text": "Fever."})))
    assert [case.source for case in cases] == ["user", "phenopacket", "osce", "user"]
    assert cases[0].diseases == ("OMIM:1",)
    assert cases[2].age == "P2M"


@pytest.mark.parametrize("indent", [None, 2])
def test_one_document_or_a_list_of_them(tmp_path: Path, indent: int | None) -> None:
    assert len(read(written(tmp_path / "one.json", json.dumps(PACKET, indent=indent)))) == 1
    assert len(read(written(tmp_path / "two.json", json.dumps([PACKET, PLAIN], indent=indent)))) == 2


def test_gzip_is_told_by_content_not_by_name(tmp_path: Path) -> None:
    assert len(read(written(tmp_path / "c.jsonl", gzip.compress(lines(PLAIN, PACKET).encode())))) == 2


def test_byte_order_mark_and_blank_lines_do_no_harm(tmp_path: Path) -> None:
    assert len(read(written(tmp_path / "c.jsonl", "\ufeff\n" + lines(PLAIN) + "\n\n" + lines(PACKET) + "\n"))) == 2


def test_folder_is_read_in_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    written(tmp_path / "sub" / "z.json", json.dumps(PACKET))
    written(tmp_path / "a.json.gz", gzip.compress(json.dumps(PLAIN).encode()))
    written(tmp_path / "notes.md", "not a case")
    assert [case.id for case in read(tmp_path)] == ["a", "b"]


def test_a_bad_file_of_a_folder_is_a_failure(tmp_path: Path) -> None:
    written(tmp_path / "a.json", "{")
    written(tmp_path / "b.json", json.dumps(PACKET))
    first, second = read_cases(tmp_path)
    assert isinstance(first, Failure)
    assert "a.json" in first.where
    assert isinstance(second, Case)


def test_term_lines(tmp_path: Path) -> None:
    (case,) = read(written(tmp_path / "terms.txt", "HP:0001250 Seizure\n- HP:0001945\n!HP:0001252\n"))
    assert (case.observed, case.excluded) == (("HP:0001250",), ("HP:0001945", "HP:0001252"))


def test_plain_text_is_kept_for_reading_later(tmp_path: Path) -> None:
    (case,) = read(written(tmp_path / "note.txt", "She has ptosis.\nNo fever.\n"))
    assert case.text == "She has ptosis.\nNo fever.\n"
    assert case.findings == ()


def test_a_bad_line_names_its_place_and_the_rest_is_read(tmp_path: Path) -> None:
    bad = [{"id": "x", "phenotypicFeatures": []}, {"id": "y", "observed": "HP:0001250"}, {"what": 1}, [1]]
    path = written(tmp_path / "c.jsonl", lines(PLAIN, *bad) + "\n{broken\n" + lines(PACKET))
    cases = list(read_cases(path))
    failures = [case for case in cases if isinstance(case, Failure)]
    assert [case.where.rsplit(" ", 1)[1] for case in failures] == ["2", "3", "4", "5", "6"]
    assert [case.id for case in failures] == ["x", "y", "", "", ""]
    assert isinstance(cases[0], Case)
    assert isinstance(cases[-1], Case)


def test_a_broken_first_line_does_not_lose_the_others(tmp_path: Path) -> None:
    first, second, third = read_cases(written(tmp_path / "c.jsonl", "{broken\n" + lines(PLAIN, PACKET)))
    assert isinstance(first, Failure)
    assert isinstance(second, Case)
    assert isinstance(third, Case)


def test_the_others_keep_the_signs_that_some_take_for_ends_of_lines(tmp_path: Path) -> None:
    told = json.dumps({"id": "t", "text": "Fever.\u2028Cough."}, ensure_ascii=False)
    _, case = read_cases(written(tmp_path / "c.jsonl", "{broken\n" + told))
    assert isinstance(case, Case) and case.text == "Fever.\u2028Cough."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b" \n\n", "it is empty"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"{\n", "not valid JSON"),
        (gzip.compress(b'{"id": "a", "observed": ["HP:0001250"]}', mtime=0)[:-12], "truncated or damaged"),
    ],
)
def test_a_useless_file_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        list(read_cases(written(tmp_path / "c.json", content)))


def test_binary_content_is_a_failure(tmp_path: Path) -> None:
    (failure,) = read_cases(written(tmp_path / "c.txt", b"PK\x00\x00\x01"))
    assert isinstance(failure, Failure)
    assert "not text" in failure.message


def test_missing_path_and_empty_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="no such file or folder"):
        list(read_cases(tmp_path / "none.json"))
    with pytest.raises(CaseError, match="no case file in"):
        list(read_cases(tmp_path))


def test_one_case_refuses_several(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="holds several cases"):
        one_case(written(tmp_path / "c.jsonl", lines(PLAIN, PACKET)))


def test_from_phenopacket_reads_a_file_and_refuses_another_form(tiny: Path, tmp_path: Path) -> None:
    assert Case.from_phenopacket(tiny / "phenopacket.json").id == "PMID_11111111_patient_1"
    with pytest.raises(CaseError, match="not a phenopacket"):
        Case.from_phenopacket(written(tmp_path / "c.json", json.dumps(PLAIN)))


def test_plain_json_round_trip() -> None:
    (case,) = parse_cases(io.BytesIO(json.dumps(PLAIN).encode()))
    assert isinstance(case, Case)
    (back,) = parse_cases(io.BytesIO(json.dumps(case_to_json(case)).encode()))
    assert back == case


def test_a_strange_sex_is_noted_and_read_as_unknown() -> None:
    case = case_from_document(PLAIN | {"sex": "x"})
    assert case.sex == "UNKNOWN"
    assert [(issue.level, issue.message) for issue in case.issues] == [
        ("warning", "'x' is not one of FEMALE, MALE, OTHER, UNKNOWN")
    ]


@pytest.mark.parametrize(
    ("said", "sex"),
    [("female", "FEMALE"), ("F", "FEMALE"), ("女", "FEMALE"), ("m", "MALE"), ("Male", "MALE"), ("other", "OTHER")],
)
def test_a_sex_is_read_in_any_form_that_tables_have(said: str, sex: str) -> None:
    case = case_from_document(PLAIN | {"sex": said})
    assert (case.sex, case.issues) == (sex, ())


def test_the_text_is_written_only_when_asked_for() -> None:
    case = Case.from_text("She has ptosis.")
    assert "ptosis" not in json.dumps(case_to_json(case))
    assert case_to_json(case, text=True)["text"] == "She has ptosis."


def test_deeply_nested_json_is_a_failure_not_a_crash() -> None:
    cases = list(parse_cases(io.BytesIO(b'{"id": "a", "observed": ["HP:0001250"]}\n' + b"[" * 100_000)))
    assert isinstance(cases[1], Failure)


def test_real_osce_cases_have_text_and_diagnosis(shared_data: Path) -> None:
    cases = read(shared_data / "agentclinic-medqa.jsonl.gz")
    assert len(cases) == 107
    assert all(case.text and case.extra["diagnosis"] for case in cases)
    assert all("Correct" not in case.text for case in cases)


@pytest.mark.parametrize(
    "content",
    ["[]", '{"observed": ["HP:0001250"], "id": ' + "9" * 5000 + "}", "[" * 100_000, '{"a": ' * 100_000],
    ids=["empty list", "number without end", "lists without end", "objects without end"],
)
def test_json_that_no_parser_takes_is_refused_in_words(tmp_path: Path, content: str) -> None:
    with pytest.raises(CaseError, match="holds no case|not valid JSON"):
        one_case(written(tmp_path / "c.json", content))


def test_a_number_without_end_loses_only_its_line(tmp_path: Path) -> None:
    content = lines(PLAIN) + '\n{"observed": [], "id": ' + "9" * 5000 + "}\n" + lines(PACKET)
    first, second, third = read_cases(written(tmp_path / "c.jsonl", content))
    assert isinstance(first, Case) and isinstance(third, Case)
    assert isinstance(second, Failure) and second.where.endswith("line 2")


@pytest.mark.parametrize(
    "content", ["x" * 300, "{" + " " * 300, '{\n"text":\n"' + "x" * 300], ids=["text", "line", "document"]
)
def test_a_document_without_end_is_not_read_to_the_end(monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    monkeypatch.setattr(case_files, "MAX_DOCUMENT", 100)
    stream = io.BytesIO(gzip.compress(content.encode(), mtime=0))
    with pytest.raises(CaseError, match="more than 100 characters"):
        list(parse_cases(stream))


@pytest.mark.parametrize("at", [0, 1, 2])
def test_bytes_that_are_no_utf8_spoil_their_own_line_alone(tmp_path: Path, at: int) -> None:
    parts = [json.dumps(PLAIN).encode(), json.dumps(PACKET).encode()]
    parts.insert(at, b'{"id": "caf\xe9", "observed": ["HP:0001250"]}')
    found = list(read_cases(written(tmp_path / "c.jsonl", b"\n".join(parts))))
    assert [isinstance(case, Failure) for case in found] == [number == at for number in range(3)]
    bad = found[at]
    assert isinstance(bad, Failure)
    assert "not UTF-8" in bad.message and bad.where.endswith(f"line {at + 1}")


@pytest.mark.parametrize(
    "content", [b"caf\xe9 with seizures", b'{\n"text":\n"caf\xe9"}', '{"text": "x"}'.encode("utf-16")]
)
def test_a_file_of_another_encoding_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(CaseError, match="not UTF-8"):
        one_case(written(tmp_path / "c.json", content))
