"""PubMed over real HTTP, answering well, badly, late or not at all: no answer ever fails or waits for it."""

from __future__ import annotations

import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import require_module
from kgdx.errors import ConfigError, StoreError
from kgdx.literature import Found, PubMed, PubMedAccess, pubmed
from kgdx.literature.pubmed import LONGEST_S, RateLimiter, search_term
from literature.ncbi import FETCH, HEAD, Fields, Reply, Script, articles, found, serving, well

NAMES = {"D:1": ("Marfan syndrome", "马凡综合征")}
ACCESS = PubMedAccess("ada@example.org", api_key="SECRET-KEY", seconds=5.0)
Open = Callable[[str], PubMed]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    require_module("Bio", "pubmed")
    monkeypatch.setattr(pubmed, "_PAUSE_S", 0.0)
    monkeypatch.setattr(PubMedAccess, "interval", 0.0)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    made: list[PubMed] = []

    def make(url: str, **more: float) -> PubMed:
        made.append(PubMed(replace(ACCESS, base_url=url, **more), tmp_path))
        return made[-1]

    yield make
    for thread in [each for each in threading.enumerate() if each.name == "kgdx-pubmed"]:
        thread.join(10)
    for each in made:
        each.close()


def test_a_folder_that_cannot_be_made_is_named_with_the_setting_to_change(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"file/pubmed cannot be made .*: set KGDX_CACHE"):
        PubMed(ACCESS, tmp_path / "file" / "pubmed")


def once(script: Script) -> Script:
    return lambda program, fields, number: (script if number == 0 else well)(program, fields, number)


def test_a_disease_is_searched_for_by_its_names_and_publications_are_looked_up(opened: Open) -> None:
    with serving() as server:
        made = opened(server.url).find(NAMES, ["55", "950"], 3)
    assert [each.pmid for each in made.by_disease["D:1"]] == ["101", "102", "103"]
    assert [each.pmid for each in made.publications] == ["55"]
    assert (made.count, made.problems) == (4, ())
    first = made.by_disease["D:1"][0]
    assert (first.title, first.journal, first.year, first.doi) == ("Report 101", "J Test", "2021", "10.1000/x101")
    assert first.authors == ("Doe J", "The Test Group")
    assert first.abstract == "It is rare. We saw it."
    search, fetch = server.requests
    assert search[1]["term"] == '"Marfan syndrome"[Title/Abstract]'
    assert fetch[1]["id"] == "101,102,103,55,950"
    assert {request[1]["email"] for request in server.requests} == {"ada@example.org"}
    assert {request[1]["api_key"] for request in server.requests} == {"SECRET-KEY"}


def test_what_was_found_is_kept_on_disk_and_not_asked_for_again(opened: Open) -> None:
    with serving() as server:
        first = opened(server.url).find(NAMES, ["950"], 3)
        again = opened(server.url).find(NAMES, ["950"], 3)
        assert len(server.requests) == 2
        more = opened(server.url).find(NAMES, ["56"], 3)
    assert again == first
    assert [each.pmid for each in more.publications] == ["56"]
    assert server.requests[2][1]["id"] == "56"


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (Reply(status=429), "it answers 429"),
        (Reply(status=503), "it answers 503"),
        (Reply(status=400), "it answers 400"),
        (Reply(b""), "cannot be read"),
        (Reply(b"<html><body>maintenance</body></html>"), "cannot be read"),
        (Reply(b'{"error": "API rate limit exceeded"}'), "cannot be read"),
        (Reply(b"\x00\xff\xfe" * 100), "cannot be read"),
        (Reply(articles("1")), "no search result"),
        (Reply(found("1", "2")[:-40]), "cannot be read"),
        (Reply(found("1", "2"), cut=300), "the connection was cut"),
        (Reply(b"x" * (pubmed.MOST_BYTES + 1)), "more than 8,000,000 bytes"),
        (Reply(b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'), "defines entities"),
        (Reply(b'<?xml version="1.0"?><!DOCTYPE x SYSTEM "http://example.org/x.dtd"><x/>'), "cannot be read"),
        (
            Reply(
                b'<?xml version="1.0"?><x xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
                b'xsi:noNamespaceSchemaLocation="https://www.ncbi.nlm.nih.gov/x.xsd"/>'
            ),
            "cannot be read",
        ),
        (Reply(status=302, headers={"Location": "http://example.org/elsewhere"}), "it answers 302"),
    ],
)
def test_whatever_is_answered_the_search_ends_and_says_what_was_wrong(opened: Open, reply: Reply, problem: str) -> None:
    with serving(lambda program, fields, number: reply) as server:
        made = opened(server.url).find(NAMES, ["55"], 3)
    assert (made.count, len(made.problems)) == (0, 1)
    assert problem in made.problems[0]
    assert "SECRET-KEY" not in made.problems[0]


@pytest.mark.parametrize("reply", [Reply(status=429, headers={"Retry-After": "0"}), Reply(status=500), Reply(cut=0)])
def test_what_may_pass_is_tried_again(opened: Open, reply: Reply) -> None:
    with serving(once(lambda program, fields, number: replace(reply, body=found("1")))) as server:
        made = opened(server.url).find(NAMES, [], 3)
    assert (made.count, made.problems) == (3, ())


def test_pubmed_that_is_down_is_said_to_be_and_left_alone_for_a_moment(opened: Open) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        made = opened(f"http://127.0.0.1:{taken.getsockname()[1]}")
        assert made.find(NAMES, [], 3).problems == ("it cannot be reached",)
        assert made.find(NAMES, [], 3).problems == ("it failed just now and is left alone for a moment",)


@pytest.mark.parametrize("slow", [Reply(found("101"), stall=30.0), Reply(found("101") + b" " * 9_000, drip=0.5)])
def test_an_answer_does_not_wait_for_slow_pubmed(opened: Open, slow: Reply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pubmed, "BACKGROUND_S", 1.0)
    with serving(lambda program, fields, number: slow) as server:
        made = opened(server.url, seconds=0.05).find(NAMES, [], 3)
    assert made.problems == ("no answer within 0.05 s; what comes later is kept for the next time",)


def late(go: threading.Event) -> Callable[[str, Fields, int], Reply]:
    def script(program: str, fields: Fields, number: int) -> Reply:
        go.wait(10)
        return well(program, fields, number)

    return script


def test_what_comes_after_the_budget_is_there_the_next_time(opened: Open) -> None:
    go = threading.Event()
    with serving(late(go)) as server:
        made = opened(server.url, seconds=0.0)
        assert made.find(NAMES, [], 3).count == 0
        go.set()
        for thread in [each for each in threading.enumerate() if each.name == "kgdx-pubmed"]:
            thread.join(10)
        assert made.find(NAMES, [], 3) == Found({"D:1": made.find(NAMES, [], 3).by_disease["D:1"]})
        assert made.find(NAMES, [], 3).count == 3


def test_searches_do_not_pile_up_behind_slow_pubmed(opened: Open) -> None:
    go = threading.Event()
    with serving(late(go)) as server:
        made = opened(server.url, seconds=0.0)
        for number in range(pubmed.MOST_THREADS):
            made.find({"D:1": (f"disease {number}",)}, [], 3)
        assert made.find(NAMES, [], 3).problems == ("it is too slow for the searches that wait already",)
        go.set()


def test_a_document_type_of_a_later_year_is_read_as_the_latest_that_is_known(opened: Open) -> None:
    def later(program: str, fields: Fields, number: int) -> Reply:
        return Reply(found("7")) if program == "esearch.fcgi" else Reply(articles("7", dated="990101"))

    with serving(later) as server:
        made = opened(server.url).find(NAMES, [], 3)
    assert [each.title for each in made.by_disease["D:1"]] == ["Report 7"]


def test_records_without_a_title_and_those_nobody_asked_for_are_left_out(opened: Open) -> None:
    bare = "<PubmedArticle><MedlineCitation><PMID>7</PMID></MedlineCitation></PubmedArticle>"

    def odd(program: str, fields: Fields, number: int) -> Reply:
        if program == "esearch.fcgi":
            return Reply(found("7", "8", "&lt;script&gt;", "0"))
        head = HEAD + FETCH.format(year="2025", dated="250101")
        body = articles("8", "9").decode().partition("<PubmedArticleSet>")[2]
        return Reply(f"{head}<PubmedArticleSet>{bare}{body}".encode())

    with serving(odd) as server:
        made = opened(server.url).find(NAMES, [], 5)
    assert [each.pmid for each in made.by_disease["D:1"]] == ["8"]


def test_a_file_that_is_no_database_is_done_without(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "pubmed.sqlite").write_bytes(b"not a database" * 100)
    with serving() as server:
        assert opened(server.url).find(NAMES, [], 3).count == 3


def test_a_file_that_breaks_later_is_an_error_with_a_hint(opened: Open, tmp_path: Path) -> None:
    with serving() as server:
        made = opened(server.url)
        with sqlite3.connect(tmp_path / "pubmed.sqlite") as broken:
            broken.execute("DROP TABLE search")
        with pytest.raises(StoreError, match="delete it, and try again"):
            made.find(NAMES, [], 3)


@pytest.mark.parametrize(
    ("names", "term"),
    [
        (("Marfan syndrome",), '"Marfan syndrome"[Title/Abstract]'),
        (("a", "b", "c", "d"), '"a"[Title/Abstract] OR "b"[Title/Abstract] OR "c"[Title/Abstract]'),
        (('x"[All Fields] OR all[sb] OR "y',), '"x All Fields OR all sb OR y"[Title/Abstract]'),
        (("马凡综合征",), ""),
        (("123", ""), ""),
        ((), ""),
    ],
)
def test_a_name_cannot_become_a_part_of_the_query_language(names: tuple[str, ...], term: str) -> None:
    assert search_term(names) == term


def test_a_disease_without_an_english_name_is_not_searched_for(opened: Open) -> None:
    with serving() as server:
        assert opened(server.url).find({"D:1": ("马凡综合征",)}, [], 3) == Found({}, (), ())
        assert server.requests == []


TURNS = """
import sys, time
from pathlib import Path
from kgdx.literature.pubmed import RateLimiter
taken = RateLimiter(Path(sys.argv[1]), 0.05)
for _ in range(6):
    assert taken.wait(time.time() + 60)
    print(time.time())
"""


def test_turns_of_threads_and_processes_are_an_interval_apart(tmp_path: Path) -> None:
    file = tmp_path / "pace"
    command = [sys.executable, "-c", TURNS, str(file)]
    others = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    mine = RateLimiter(file, 0.05)

    def turn(_: int) -> float:
        assert mine.wait(time.time() + 60)
        return time.time()

    with ThreadPoolExecutor(3) as threads:
        times = list(threads.map(turn, range(6)))
    for each in others:
        times += map(float, each.communicate()[0].split())
    times.sort()
    assert len(times) == 18
    assert times[-1] - times[0] >= 17 * 0.05 - 0.05  # a turn is never given early; waking up may be late
    assert max(sum(at <= each < at + 0.5 for each in times) for at in times) <= 12


def test_no_turn_is_taken_that_comes_too_late(tmp_path: Path) -> None:
    slow = RateLimiter(tmp_path / "pace", 30.0)
    assert slow.wait(time.time() + 1)
    before = (tmp_path / "pace").read_text()
    assert not slow.wait(time.time() + 1)
    assert (tmp_path / "pace").read_text() == before


@pytest.mark.parametrize("text", ["", "nonsense", "nan", "1e18", "-5"])
def test_a_file_that_says_nothing_sensible_holds_nobody_up(tmp_path: Path, text: str) -> None:
    (tmp_path / "pace").write_text(text)
    assert RateLimiter(tmp_path / "pace", 0.01).wait(time.time() + 1)
    assert float((tmp_path / "pace").read_text()) <= time.time() + LONGEST_S
