"""Pages, and the files they are written to."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgdx.render.pages
from conftest import examples
from kgdx.errors import UsageError
from kgdx.render.pages import page, write
from kgdx.render.pages.page import fragment, script, stylesheet
from render.pages.documents import HOSTILE, answer, english, large, small, spoilt
from render.pages.markup import Page

DOCUMENTS = {"diagnosis": small, "large": large, "answer": answer}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_page_fetches_nothing_and_allows_itself_only_its_own_style_and_script(name: str) -> None:
    shown = Page(page(DOCUMENTS[name]()))
    assert len(shown.named("script")) == len(shown.named("style")) == 1
    assert not any(
        attributes.keys() & {"src", "srcset", "action", "poster", "style"} for _, attributes in shown.elements
    )
    assert not any(attribute.startswith("on") for _, attributes in shown.elements for attribute in attributes)
    assert [each["href"] for each in shown.named("link")] == ["data:,"]
    (policy,) = [each["content"] for each in shown.named("meta") if "http-equiv" in each]
    for text in (script(), stylesheet()):
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "url(" not in stylesheet()
    assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|eval\(|fetch\(|XMLHttp", script())


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_name_label_or_text_becomes_markup(name: str) -> None:
    plain, hostile = Page(page(DOCUMENTS[name]())), Page(page(spoilt(DOCUMENTS[name]())))
    assert hostile.raw == plain.raw, "style and script are the page's own"
    assert {tag for tag, _ in hostile.elements} <= {tag for tag, _ in plain.elements}
    assert not any("onerror" in attributes for _, attributes in hostile.elements)
    assert HOSTILE in hostile.text
    assert all(re.match(r"(https://|#|data:,$)", each["href"]) for each in hostile.named("a"))


def test_an_answer_says_how_often_and_in_the_words_of_the_evidence() -> None:
    document = answer()
    item = document["pack"]["items"][1]
    item.update(language="en", details={"numerator": 9, "denominator": 12})
    shown = Page(page(document)).words
    assert shown.count("9 of 12 (75%)") >= 2, "in the list and in the table"
    item.update(language="zh", relation="HAS_SYMPTOM")
    assert "的症状有" in Page(page(document)).words


def test_sources_that_the_evidence_names_come_first() -> None:
    document = small()
    document["sources"] = [{"id": "other", "version": "1"}, {"id": "hpoa", "version": "2"}]
    path = document["evidence"][document["candidates"][0]["id"]][0]
    path["relations"][-1]["properties"] = {"source": "hpoa"}
    shown = Page(page(document)).words
    assert shown.index("hpoa version 2") < shown.index("1 other source of the graph") < shown.index("other version 1")


def test_a_page_links_to_neo4j_browser_and_to_nothing_that_runs() -> None:
    document = small()
    disease = document["candidates"][0]["id"]
    safe = "http://127.0.0.1:7474/browser/?cmd=edit&arg=RETURN%201"
    assert "Neo4j Browser" not in page(document)
    for address, shown in ((safe, True), ("javascript:alert(1)", False), (f"{safe}' onclick='x", False)):
        document["links"] = {disease: address}
        links = [each["href"] for each in Page(page(document)).named("a")]
        assert (safe in links) is shown
        assert all(re.match("https?://|#", each) for each in links)
    assert safe in [each["href"] for each in Page(page({**answer(), "links": {"": safe}})).named("a")]


@examples(40)
@given(st.text(min_size=1, max_size=60))
def test_any_text_is_shown_as_it_is(words: str) -> None:
    document = answer()
    document["question"] = f"x{words}x"
    document["pack"]["items"][2]["text"] = f"x{words}x"
    document["issues"][0]["message"] = f"x{words}x"
    shown = Page(page(document))
    assert shown.raw == Page(page(answer())).raw
    assert shown.elements[0][0] == "html"
    assert len([tag for tag, _ in shown.elements if tag == "h1"]) == 1
    printable = "".join(re.findall(r"\w", words))
    assert "".join(re.findall(r"\w", printable)) in "".join(re.findall(r"\w", shown.text))


@examples(40)
@given(st.text(max_size=40))
def test_only_addresses_of_the_web_become_links(address: str) -> None:
    document = small()
    document["sources"][0]["licence"] = address
    document["evidence"]["OMIM:190350"][0]["references"] = [address]
    for each in Page(page(document)).named("a"):
        assert re.match(r"(https?://|#)", each["href"])


def test_diagnosis_page_says_what_was_found_and_what_it_rests_on() -> None:
    words = Page(page(english())).words
    for said in (
        "Diagnosis of p1", "female, 4 years", "Most likely of 12,731 diseases",
        "Trichorhinophalangeal syndrome, type I",
        "9.1", "absent", "Slow-growing hair", "+3.10", "9 of 12 (75%)", "PMID:25792522",
        "Seizure is given both as present and as absent", "hpoa", "2025-01-16", "Gargano 2024", "evidence_supporting",
        "ab12", "not a medical device",
    ):  # fmt: skip
        assert said in words, said


def test_answer_page_links_each_mark_to_its_evidence() -> None:
    shown = Page(page(answer()))
    ids = {each["id"] for _, each in shown.elements if "id" in each}
    marks = [each["href"][1:] for each in shown.named("a") if each.get("class") == "mark"]
    assert marks == ["E1", "E2"], "evidence that is not there gets no link"
    assert set(marks) <= ids
    for said in (
        "百日咳的推荐药物有红霉素", "[E7]", "[cites no evidence]", "Written by some-model, from the evidence alone",
        "1 mark of evidence that does not exist was taken out: E9", "百日咳 的用药有 红霉素",
        "1 item found and not cited",
        "Whooping Cough", "C01.150.252.400.625", "its name is a synonym", "Doe J. On cough. 2020", "Round 1", "2 rows",
        "no disease is given", "Not done: an eleventh action", "2 calls, 1,200 tokens read, 80 written",
        "Nothing was found by get_test (百日咳)", "4 facts of get_symptom", "理解为",
    ):  # fmt: skip
        assert said in shown.words, said


def test_an_answer_about_a_patient_shows_the_ranking_too() -> None:
    diagnosis = small()
    shown = Page(page(answer() | {key: diagnosis[key] for key in ("case", "candidates", "evidence")}))
    assert "Langer-Giedion syndrome" in shown.words
    assert "What each finding adds to the score of 9.1" in shown.words


def test_every_inner_link_and_label_has_its_target() -> None:
    for make in DOCUMENTS.values():
        shown = Page(page(make()))
        ids = [each["id"] for _, each in shown.elements if "id" in each]
        assert len(ids) == len(set(ids))
        inner = {each["href"][1:] for each in shown.named("a") if each["href"].startswith("#")}
        named = {name for _, each in shown.elements for name in each.get("aria-labelledby", "").split()}
        assert inner | named <= set(ids)


def test_a_diagnosis_of_nothing_has_a_page() -> None:
    shown = Page(page({"schema": "kgdx.diagnosis/3", "case": {"id": "p"}}))
    assert "No finding was read from the case" in shown.words
    assert "No disease was ranked" in shown.words
    assert "Nothing was found" in Page(page({"schema": "kgdx.answer/3", "question": "?"})).words


def test_a_thousand_candidates_fit_on_a_page() -> None:
    document = large(paths=20, candidates=1000)
    document["evidence"] = {each["id"]: document["evidence"]["OMIM:100000"] for each in document["candidates"]}
    html = page(document)
    assert len(html.encode()) <= 1_500_000
    shown = Page(html)
    assert len(shown.named("article")) == 12, "as many as 250 paths allow"
    assert "988 further candidates have evidence" in shown.words
    assert "Disease OMIM:100999" in shown.words


def test_page_of_two_hundred_paths_is_below_a_megabyte() -> None:
    assert len(page(large(200)).encode()) <= 1_000_000


def test_chinese_names_come_first_for_a_patient_described_in_chinese() -> None:
    document = small()
    document["candidates"][0]["name_zh"] = "毛发鼻指综合征"
    assert "毛发鼻指综合征 Trichorhinophalangeal syndrome" in Page(page(document)).words


def test_fragment_is_the_same_without_what_a_page_has_once() -> None:
    part = Page(fragment(small()))
    assert not part.named("script") and not part.named("style") and not part.named("main")
    assert "Trichorhinophalangeal syndrome, type I" in part.words


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({}, "without a form"),
        ({"schema": 3}, "without a form"),
        ({"schema": "kgdx.diagnosis/9"}, "of the form kgdx.diagnosis/9"),
        ({"schema": "kgdx.diagnosis/3"}, "damaged at case (Field required)"),
        (
            {"schema": "kgdx.diagnosis/3", "case": {"id": "p"}, "candidates": [{"rank": "x"}]},
            "damaged at candidates.0.rank",
        ),
        ({"schema": "kgdx.answer/3"}, "damaged at question"),
    ],
)
def test_what_is_no_result_is_refused_in_one_line(document: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)) as refused:
        page(document)
    assert "\n" not in str(refused.value)


def test_a_path_that_does_not_hang_together_is_refused() -> None:
    document = small()
    document["evidence"]["OMIM:190350"][0]["relations"].pop()
    with pytest.raises(UsageError, match=r"damaged at evidence\.OMIM:190350\.0"):
        page(document)


def test_a_score_that_is_no_number_is_refused() -> None:
    document = small()
    document["candidates"][0]["score"] = float("nan")
    with pytest.raises(UsageError, match=r"candidates\.0\.score"):
        page(document)


def test_the_page_of_a_chinese_patient_is_chinese_and_its_words_are_all_known() -> None:
    shown = page(small())
    assert '<html lang="zh-CN">' in shown and "最可能的疾病" in shown and "匹配分用于排序" in shown
    assert "Most likely" not in shown and "最可能" not in page(english())
    folder = Path(kgdx.render.pages.__file__).parent
    known = {line.split("\t")[0] for line in (folder / "words_zh.tsv").read_text("utf-8").splitlines()}
    for template in (folder / "templates").glob("*.html"):
        said = re.findall(r"(?:\"([^\"{}]+)\"|'([^'{}]+)') \| say", template.read_text("utf-8"))
        assert {one or other for one, other in said} <= known, template.name


def test_a_page_is_written_and_may_be_written_again(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    write(page(small()), target)
    write(page(large(5)), target)
    assert target.read_text(encoding="utf-8") == page(large(5))
    assert os.listdir(tmp_path) == ["report.html"]


@pytest.mark.parametrize(("place", "says"), [("", "is a folder"), ("no/such/report.html", "there is no folder")])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, place: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        write(page(small()), tmp_path / place)


def test_a_file_that_fails_half_way_leaves_the_old_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = write(page(small()), tmp_path / "report.html")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="No space left on device"):
        write(page(large(5)), target)
    assert target.read_text(encoding="utf-8") == page(small())
    assert os.listdir(tmp_path) == ["report.html"]


def test_two_that_write_at_once_leave_one_whole_page(tmp_path: Path) -> None:
    target, pages = tmp_path / "report.html", [page(small()), page(large(50))]
    writers = [threading.Thread(target=write, args=(pages[at % 2], target)) for at in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert target.read_text(encoding="utf-8") in pages
    assert os.listdir(tmp_path) == ["report.html"]
