"""Consultations over HTTP: the server keeps nothing, refuses what was changed, and goes on after a restart."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import require_module

require_module("fastapi", "serve")

import httpx2  # noqa: E402

from kgdx.terms.normalise import has_chinese  # noqa: E402

from .conftest import Running, serving  # noqa: E402

SEIZURE, HYPOTONIA = "HP:0001250", "HP:0001252"
API = "/api/v1/"


@pytest.fixture(scope="module")
def small_server(tiny_graph: Path) -> Iterator[Running]:
    with serving(tiny_graph, "--rate", "0") as running:
        yield running


@pytest.fixture
def client(small_server: Running) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=small_server.address, timeout=60) as opened:
        yield opened


def post(client: httpx2.Client, path: str, **given: Any) -> dict[str, Any]:
    answer = client.post(API + path, json=given)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def begun(client: httpx2.Client, **more: Any) -> dict[str, Any]:
    return post(client, "consult", observed=[SEIZURE], certain=1.0, **more)


def answered(client: httpx2.Client, talk: dict[str, Any], **given: Any) -> dict[str, Any]:
    return post(client, "consult/answer", transcript=talk["transcript"], **given)


def test_a_consultation_is_led_by_sending_the_transcript_back(client: httpx2.Client) -> None:
    talk = post(client, "consult", observed=[HYPOTONIA], certain=1.0)
    assert talk["question"]["text"] == "Has there been a seizure?" and talk["diagnosis"] is None
    talk = answered(client, talk, text="不知道")
    talk = answered(client, talk, what="skip")
    talk = answered(client, talk, what="back")
    talk = answered(client, talk, status="present", number=2)
    assert {HYPOTONIA, SEIZURE} < {each["id"] for each in talk["record"]["findings"]}
    if talk["question"] is not None:
        talk = answered(client, talk, what="finish")
    assert talk["question"] is None
    assert talk["diagnosis"]["candidates"][0]["id"] == talk["differential"][0]["id"]
    assert client.post(API + "page", json={"document": talk["record"]}).status_code == 200


def test_the_language_can_change_while_it_goes_on(client: httpx2.Client) -> None:
    talk = begun(client)
    assert answered(client, talk, what="show", speaks="zh")["question"]["text"].startswith("有没有")
    assert answered(client, talk, what="show")["question"] == talk["question"]
    ended = answered(client, talk, what="finish", speaks="zh")
    assert all(has_chinese(each["label"]) for each in ended["diagnosis"]["case"]["findings"])


def changed(talk: dict[str, Any], place: int, **data: Any) -> list[dict[str, Any]]:
    transcript: list[dict[str, Any]] = copy.deepcopy(talk["transcript"])
    transcript[place]["data"] |= data
    return transcript


def test_a_forged_transcript_is_refused(client: httpx2.Client) -> None:
    talk = answered(client, begun(client), status="absent")
    for transcript in (changed(talk, 2, digest="0"), changed(talk, 1, language="zh"), talk["transcript"][:3] * 2):
        answer = client.post(API + "consult/answer", json={"transcript": transcript, "status": "absent"})
        assert answer.status_code == 422
        assert "the transcript was changed" in answer.json()["detail"]


def test_a_graph_that_has_changed_is_409_with_a_clear_word(client: httpx2.Client) -> None:
    transcript = changed(begun(client), 0, fingerprint="of yesterday")
    answer = client.post(API + "consult/answer", json={"transcript": transcript, "status": "absent"})
    assert answer.status_code == 409
    assert answer.json()["detail"] == "the graph has changed since the consultation began"


@pytest.mark.parametrize(
    ("given", "status", "says"),
    [
        ({"number": 7, "status": "absent"}, 422, "question 7 does not wait for an answer"),
        ({"named": ["HP:0000001"]}, 422, "is not among the options"),
        ({"text": "  "}, 422, "the answer is empty"),
        ({"what": "back"}, 422, "this is the first question"),
        ({"status": "perhaps"}, 400, "status"),
        ({"text": "a" * 100_001}, 400, "text"),
        ({"what": "obey"}, 400, "what"),
    ],
)
def test_an_answer_that_is_none_is_refused(
    client: httpx2.Client, given: dict[str, Any], status: int, says: str
) -> None:
    transcript = begun(client)["transcript"]
    answer = client.post(API + "consult/answer", json={"transcript": transcript, **given})
    assert answer.status_code == status
    assert says in answer.json()["detail"]


@pytest.mark.parametrize("wrong", [{"certain": 2}, {"questions": -1}, {"speaks": "fr"}, {"selector": "oracle"}])
def test_a_setting_that_cannot_be_is_refused(client: httpx2.Client, wrong: dict[str, Any]) -> None:
    answer = client.post(API + "consult", json={"observed": [SEIZURE], **wrong})
    assert answer.status_code in (400, 422)
    assert next(iter(wrong)) in answer.json()["detail"]


def test_it_goes_on_at_another_server_and_no_word_is_logged(
    client: httpx2.Client, small_server: Running, tiny_graph: Path
) -> None:
    talk = answered(client, begun(client), text="no, secretively")
    with serving(tiny_graph, "--rate", "0") as other, httpx2.Client(base_url=other.address, timeout=60) as second:
        assert (
            answered(second, talk, status="unknown")["question"] == answered(client, talk, status="unknown")["question"]
        )
    assert "secretive" not in small_server.log
