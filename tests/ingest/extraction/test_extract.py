"""Extraction page by page: finished pages stay, failed ones are tried again, interrupted ones go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from ingest.extraction.readers import Dying, Scripted, down, symptom
from kgdx.errors import LlmError, SourceError, StoreError, StoreLockedError, UsageError
from kgdx.ingest.column_mapping import stage
from kgdx.ingest.extraction.extract import FRAMES, ExtractionFolder, RelationExtraction, extract, read
from kgdx.ingest.extraction.filters import ReadRelations
from kgdx.ingest.extraction.rule_reader import RuleReader
from kgdx.ingest.manifest import manifest


def write(path: Path, questions: list[str], answer: str = "感冒会发热。") -> Path:
    lines = [json.dumps({"question": each, "answer": answer}, ensure_ascii=False) for each in questions]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "qa.jsonl", [f"感冒{n}" for n in range(7)])


def relations(folder: Path) -> list[tuple[str, int, str]]:
    table = pq.read_table(folder / "pages").to_pylist()
    return [(row["tail"], row["page"], row["record"]) for row in table]


def test_each_relation_has_its_page_record_model_and_passage(tmp_path: Path, file: Path) -> None:
    done = extract([file], tmp_path / "out", Scripted(), size=2)
    assert (done.pages, done.records, done.relations, dict(done.by_type)) == (4, 7, 7, {"HAS_SYMPTOM": 7})
    row = pq.read_table(tmp_path / "out" / "pages" / "000001.parquet").to_pylist()[0]
    assert row == {
        "type": "HAS_SYMPTOM",
        "head": "感冒",
        "tail": "发热",
        "page": 1,
        "record": "qa.jsonl:3",
        "line": 3,
        "model": "scripted",
        "prompt": "p@1",
        "span": "感冒会发热。",
    }


def test_a_finished_extraction_is_not_done_again(tmp_path: Path, file: Path) -> None:
    extract([file], tmp_path / "out", Scripted(), size=2)
    again = Scripted()
    done = extract([file], tmp_path / "out", again, size=2)
    assert (again.asked, done.kept, done.relations) == ([], 4, 7)


def test_only_pages_whose_lines_changed_are_done_again(tmp_path: Path, file: Path) -> None:
    extract([file], tmp_path / "out", Scripted(), size=2)
    write(file, [f"感冒{n}" for n in range(4)] + ["感冒x"])
    again = Scripted()
    done = extract([file], tmp_path / "out", again, size=2)
    assert again.asked == ["感冒x"]
    assert (done.pages, done.kept) == (3, 2)
    assert [each.page for each in ExtractionFolder(tmp_path / "out").finished()] == [0, 1, 2]


def test_a_range_of_pages_can_be_done_alone_and_the_rest_later(tmp_path: Path, file: Path) -> None:
    reader = Scripted()
    extract([file], tmp_path / "out", reader, size=2, only=range(1, 3))
    assert reader.asked == [f"感冒{n}" for n in (2, 3, 4, 5)]
    assert extract([file], tmp_path / "out", reader, size=2).kept == 2
    with pytest.raises(UsageError, match="there is no page 9 to 9: the files have the pages 0 to 3"):
        extract([file], tmp_path / "out", reader, size=2, only=range(9, 10))


@pytest.mark.parametrize(("size", "signature"), [(3, "scripted 1"), (2, "scripted 2")])
def test_pages_of_another_size_or_reader_are_not_mixed(tmp_path: Path, file: Path, size: int, signature: str) -> None:
    extract([file], tmp_path / "out", Scripted(), size=2)
    with pytest.raises(UsageError, match="holds pages by scripted"):
        extract([file], tmp_path / "out", Scripted(signature=signature), size=size)


def test_records_that_cannot_be_read_are_set_apart_and_the_rest_is_read(tmp_path: Path, file: Path) -> None:
    with file.open("ab") as stream:
        stream.write(b"broken\n\xff\xfe\n{}\n")
    done = extract([file], tmp_path / "out", Scripted())
    assert (done.records, done.relations, done.refused) == (10, 7, 3)
    facts = ExtractionFolder(tmp_path / "out").facts(0)
    assert facts is not None
    assert facts.refused[0] == (8, "broken", "the line is no JSON")


@pytest.mark.parametrize("kind", ["refused", "malformed", "truncated", "rejected"])
@pytest.mark.parametrize("jobs", [1, 3])
def test_what_a_model_cannot_answer_concerns_its_record_alone(tmp_path: Path, file: Path, kind: str, jobs: int) -> None:
    reader = Scripted(lambda question: down(kind) if question == "感冒3" else ReadRelations((symptom(),)))
    done = extract([file], tmp_path / "out", reader, jobs=jobs)
    assert (done.relations, dict(done.reasons)) == (6, {"the endpoint is down": 1})


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_page_that_fails_is_tried_again(tmp_path: Path, file: Path, jobs: int) -> None:
    answers = [down(), ReadRelations((symptom(),))]
    reader = Scripted(
        lambda question: answers.pop(0) if question == "感冒3" and answers else ReadRelations((symptom(),))
    )
    assert extract([file], tmp_path / "out", reader, size=2, jobs=jobs).relations == 7


def test_a_page_that_keeps_failing_is_set_apart_and_the_others_are_done(tmp_path: Path, file: Path) -> None:
    reader = Scripted(lambda question: down() if question == "感冒3" else ReadRelations((symptom(),)))
    with pytest.raises(
        LlmError, match=r"1 of 4 pages failed \(page 1: the endpoint is down.*run the same command again"
    ):
        extract([file], tmp_path / "out", reader, size=2)
    folder = ExtractionFolder(tmp_path / "out")
    assert [each["page"] for each in folder.failed()] == [1]
    assert len(folder.finished()) == 3
    done = extract([file], tmp_path / "out", Scripted(), size=2)
    assert (done.kept, done.relations, folder.failed()) == (3, 7, [])


def test_an_endpoint_that_goes_down_in_the_middle_stops_it_and_finished_pages_stay(tmp_path: Path, file: Path) -> None:
    reader = Scripted(lambda question: ReadRelations((symptom(),)) if question < "感冒2" else down())
    with pytest.raises(LlmError, match="2 pages failed one after the other .*it goes on at page 2, 1 pages are kept"):
        extract([file], tmp_path / "out", reader, size=2)
    assert len(reader.asked) == 2 + 2 * 2
    assert extract([file], tmp_path / "out", Scripted(), size=2).kept == 1


@pytest.mark.parametrize("kind", ["denied", "missing"])
def test_a_wrong_key_stops_it_at_once(tmp_path: Path, file: Path, kind: str) -> None:
    reader = Scripted(lambda question: down(kind))
    with pytest.raises(LlmError, match="start it, then run the same command again: it goes on at page 0"):
        extract([file], tmp_path / "out", reader, size=2)
    assert len(reader.asked) == 1


def test_an_endpoint_that_rejects_every_record_stops_it(tmp_path: Path, file: Path) -> None:
    reader = Scripted(lambda question: down("rejected"))
    with pytest.raises(LlmError, match="goes on at page 0"):
        extract([file], tmp_path / "out", reader, size=2)
    assert len(reader.asked) == 2


def test_two_extractions_do_not_share_a_folder(tmp_path: Path, file: Path) -> None:
    inside, leave = threading.Event(), threading.Event()

    def wait(question: str) -> ReadRelations:
        inside.set()
        assert leave.wait(10)
        return ReadRelations()

    first = threading.Thread(target=extract, args=([file], tmp_path / "out", Scripted(wait)))
    first.start()
    assert inside.wait(10)
    try:
        with pytest.raises(StoreLockedError, match="another process extracts into"):
            extract([file], tmp_path / "out", Scripted())
    finally:
        leave.set()
        first.join()


def test_a_damaged_page_is_done_again(tmp_path: Path, file: Path) -> None:
    extract([file], tmp_path / "out", Scripted(), size=2)
    (tmp_path / "out" / "pages" / "000002.parquet").write_bytes(b"PAR1 but not for long")
    (tmp_path / "out" / "pages" / ".000003.parquet.0a1b2c3d").write_bytes(b"half")
    again = Scripted()
    assert extract([file], tmp_path / "out", again, size=2).relations == 7
    assert again.asked == ["感冒4", "感冒5"]
    assert list((tmp_path / "out" / "pages").glob(".*")) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, file: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(StoreError, match="out cannot be written"):
        extract([file], tmp_path / "out", Scripted())


def test_files_of_one_name_are_refused(tmp_path: Path, file: Path) -> None:
    with pytest.raises(UsageError, match="two files have one name"):
        extract([file, file], tmp_path / "out", Scripted())
    with pytest.raises(UsageError, match="no file is given"):
        extract([], tmp_path / "out", Scripted())


def test_processes_beside_each_other_give_what_one_gives(tmp_path: Path) -> None:
    file = write(tmp_path / "qa.jsonl", [f"肺炎{n}的症状" for n in range(9)], "肺炎的症状有发热、咳嗽。")
    told: list[int] = []
    one = extract([file], tmp_path / "one", RuleReader(), size=2)
    two = extract([file], tmp_path / "two", RuleReader(), size=2, jobs=2, progress=lambda now: told.append(now.pages))
    assert one.relations == two.relations == 18
    assert relations(tmp_path / "one") == relations(tmp_path / "two")
    assert told == [1, 2, 3, 4, 5, 5]


def test_a_killed_helper_is_told_and_finished_pages_stay(tmp_path: Path) -> None:
    file = write(tmp_path / "qa.jsonl", ["肺炎的症状"] * 40 + ["死"], "肺炎的症状有发热、咳嗽。")
    with pytest.raises(StoreError, match="a process that reads pages was killed: run the same command again"):
        extract([file], tmp_path / "out", Dying(), size=2, jobs=2)
    assert extract([file], tmp_path / "out", RuleReader(), size=2).kept > 0


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[4])
from ingest.extraction.readers import Scripted
from kgdx.ingest.extraction import extract as folder
from kgdx.ingest.extraction.extract import extract

kill_at = int(sys.argv[3])
whole = folder.pq.write_table
written = 0

def write(*arguments, **options):
    global written
    written += 1
    if written == kill_at:
        with open(arguments[1], "wb") as stream:
            stream.write(b"PAR1")
        os.kill(os.getpid(), signal.SIGKILL)
    whole(*arguments, **options)

folder.pq.write_table = write
extract([Path(sys.argv[1])], Path(sys.argv[2]), Scripted(), size=2)
"""


@pytest.mark.parametrize("at", [1, 3])
def test_a_killed_extraction_goes_on_where_it_was(tmp_path: Path, file: Path, at: int) -> None:
    here = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", KILLED, str(file), str(tmp_path / "out"), str(at), here]
    killed = subprocess.run(command, capture_output=True, check=False, env=dict(os.environ), timeout=60)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    again = Scripted()
    done = extract([file], tmp_path / "out", again, size=2)
    assert (done.kept, done.relations) == (at - 1, 7)
    assert len(again.asked) == 7 - 2 * (at - 1)


def test_the_manifest_maps_what_the_reader_gives(tmp_path: Path, file: Path) -> None:
    extract([file], tmp_path / "out", Scripted(), size=2)
    records = read(tmp_path / "out", manifest("huatuo"))
    assert records.frames.keys() == FRAMES.keys()
    frame = records.frames["has_symptom"]
    assert frame.select("disease", "name", "page", "record", "support").rows() == [("感冒", "发热", 0, "qa.jsonl:1", 7)]
    assert (records.merged, records.version) == (6, "scripted, p@1")
    tables, rejects = stage(records, manifest("huatuo"))
    assert rejects.height == 0
    assert {table.name for table in tables if table.rows.height} == {"Disease", "Symptom", "HAS_SYMPTOM"}


def test_a_file_of_questions_is_read_by_rules_as_its_folder_would_be(tmp_path: Path) -> None:
    file = write(tmp_path / "qa.jsonl", ["肺炎的症状？", "肺炎有什么表现？"], "肺炎的症状有发热、咳嗽。")
    with file.open("ab") as stream:
        stream.write(b"broken\n")
    extract([file], tmp_path / "out", RuleReader())
    ours, theirs = read(file, manifest("huatuo")), read(tmp_path / "out", manifest("huatuo"))
    for name, frame in theirs.frames.items():
        assert ours.frames[name].equals(frame), name
    assert ours.merged == theirs.merged == 2
    assert ours.rejects.drop("file").equals(theirs.rejects.drop("file"))
    assert ours.rejects.select(pl.col("line")).item() == 3


def test_missing_pages_are_told(tmp_path: Path, file: Path) -> None:
    reader = Scripted(lambda question: down() if question == "感冒3" else ReadRelations((symptom(),)))
    with pytest.raises(LlmError):
        extract([file], tmp_path / "out", reader, size=2)
    assert "1 of its pages failed" in read(tmp_path / "out", manifest("huatuo")).warnings[0]


def test_what_holds_no_relations_is_named(tmp_path: Path, file: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="holds no extracted relations"):
        read(tmp_path / "empty", manifest("huatuo"))
    with pytest.raises(SourceError, match="no relation was read"):
        read(write(tmp_path / "chat.jsonl", ["你好"], "你好！"), manifest("huatuo"))
    extract([file], tmp_path / "out", Scripted(lambda question: ReadRelations()))
    with pytest.raises(SourceError, match="no relation was read"):
        read(tmp_path / "out", manifest("huatuo"))


def test_progress_adds_up(tmp_path: Path, file: Path) -> None:
    told: list[tuple[int, int]] = []

    def tell(now: RelationExtraction) -> None:
        told.append((now.pages, now.relations))

    extract([file], tmp_path / "out", Scripted(), size=2, progress=tell)
    assert told == [(1, 2), (2, 4), (3, 6), (4, 7), (4, 7)]
