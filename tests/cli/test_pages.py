"""Pages from the command line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import TINY

Run = subprocess.CompletedProcess[str]
Invoke = Callable[..., Run]


@pytest.mark.parametrize(
    "arguments", [["diagnose", "seizures and hypotonia"], ["explain", "seizures", "OMIM:100001"], ["ask", "seizure"]]
)
def test_a_result_is_written_as_a_page_beside_what_is_printed(
    invoke: Invoke, tmp_path: Path, arguments: list[str]
) -> None:
    target = tmp_path / "page.html"
    done = invoke(*arguments, "--html", str(target))
    assert done.returncode == 0, done.stderr
    assert f"page written to {target}" in done.stderr
    html = target.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert "eizure" in html
    assert "hpoa" in html, "the sources are named"
    assert done.stdout, "what a terminal shows is shown too"


def test_a_page_explains_more_than_the_terminal_shows(invoke: Invoke, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    invoke("diagnose", "seizures and hypotonia", "--explain", "0", "--html", str(target))
    assert target.read_text(encoding="utf-8").count("<article") > 1


def test_a_page_is_made_of_what_json_says(invoke: Invoke, tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    result.write_text(invoke("diagnose", str(TINY / "phenopacket.json"), "--json").stdout, encoding="utf-8")
    done = invoke("report", str(result))
    assert done.returncode == 0, done.stderr
    direct = tmp_path / "direct.html"
    invoke("diagnose", str(TINY / "phenopacket.json"), "--html", str(direct))
    kept = (tmp_path / "result.html").read_text(encoding="utf-8")
    assert kept.count("<article") == direct.read_text(encoding="utf-8").count("<article")


@pytest.mark.parametrize(
    "command", [["diagnose", "seizures"], ["explain", "seizures", "OMIM:100001"], ["ask", "fever?"]]
)
def test_a_place_that_no_page_can_have_is_refused_before_the_work(
    invoke: Invoke, tmp_path: Path, command: list[str]
) -> None:
    done = invoke(*command, "--html", str(tmp_path / "no" / "page.html"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: there is no folder {tmp_path / 'no'}: make it first\n"


def test_other_files_are_left_alone_unless_forced(invoke: Invoke, tmp_path: Path) -> None:
    target = tmp_path / "notes.html"
    target.write_text("mine")
    done = invoke("diagnose", "seizures", "--html", str(target))
    assert done.returncode == 2
    assert "exists and is no page of kgdx: name another file, or add --force" in done.stderr
    assert target.read_text() == "mine"
    assert invoke("diagnose", "seizures", "--html", str(target), "--force").returncode == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such file"),
        (b"", ""),
        (b"not json", "is no JSON document"),
        (b"[1]", "is no result"),
        (b'{"schema": "other"}', "no page is made of a document of the form other"),
        (b'{"schema": ["kgdx.answer/3"]}', ""),
        (b'{"schema": "kgdx.answer/3", "question": NaN}', ""),
        (b'{"schema": "kgdx.diagnosis/3"}', "the document is damaged at case"),
        (b'{"schema": "kgdx.diagnosis/3", "case": {"id": "p"}, "candidates": [{"rank": 1, "score": 1e999}]}', ""),
        (b'{"schema": "kgdx.diagnosis/3", "candidates": [{"rank": ' + b"9" * 5000 + b"}]}", ""),
        (b"\xff\xfe{}", ""),
        (b"[" * 100_000, "is no JSON document"),
        (b"[" * 100_000 + b"]" * 100_000, ""),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, ""),
    ],
)
def test_what_is_no_result_is_refused(invoke: Invoke, tmp_path: Path, content: bytes | None, says: str) -> None:
    given = tmp_path / "given.json"
    if content is not None:
        given.write_bytes(content)
    done = invoke("report", str(given))
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "given.html").exists()


def test_standard_input_needs_a_name_for_the_page(invoke: Invoke, tmp_path: Path) -> None:
    document = json.dumps({"schema": "kgdx.diagnosis/3", "case": {"id": "p"}})
    refused = invoke("report", "-", stdin=document)
    assert refused.returncode == 2
    assert "add --out FILE.html" in refused.stderr
    target = tmp_path / "page.html"
    assert invoke("report", "-", "--out", str(target), stdin=document).returncode == 0
    assert "Diagnosis of p" in target.read_text(encoding="utf-8")
