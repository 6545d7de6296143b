from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import require_module
from kgdx.errors import ConfigError, UsageError
from kgdx.serve.server_options import Options, is_loopback, read_token

require_module("fastapi", "serve")
require_module("httpx2", "serve-test")

import httpx2  # noqa: E402

from kgdx.serve import request_guard  # noqa: E402
from kgdx.serve.app import create_app  # noqa: E402
from kgdx.serve.problems import Problem, RequestRefused, busy  # noqa: E402
from kgdx.serve.request_guard import Rates  # noqa: E402

TOKEN = "0123456789abcdef-right"
SECRET = "Mrs Unmistakable has seizures"


class Answers:
    """A pool whose workers answer at once, or as a test says."""

    def __init__(self, answer: bytes | Exception = b"{}", events: tuple[dict[str, Any], ...] = ()) -> None:
        self.answer, self.events, self.asked = answer, events, list[tuple[str, Any]]()
        self.graph: dict[str, Any] = {"fingerprint": "f", "created": "2026-01-01"}
        self.trouble: Problem | None = None
        self.alive = 1

    async def ask(
        self, operation: str, given: Any, *, seconds: float, event: Callable[..., None] | None = None
    ) -> bytes:
        self.asked.append((operation, given))
        for each in self.events:
            assert event is not None
            event(each)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def call(options: Options, method: str, path: str, pool: Answers | None = None, **request: Any) -> httpx2.Response:
    lines: list[str] = []
    pool = pool or Answers()

    async def run() -> httpx2.Response:
        app = create_app(options, pool, pool, log=lines.append)  # type: ignore[arg-type]
        transport = httpx2.ASGITransport(app, client=(request.pop("client", "10.0.0.1"), 1))
        base = request.pop("base", "http://localhost")
        async with httpx2.AsyncClient(transport=transport, base_url=base) as client:
            return await client.request(method, path, **request)

    response = asyncio.run(run())
    response.extensions["log"] = lines
    return response


def problem(response: httpx2.Response) -> dict[str, Any]:
    assert response.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = response.json()
    assert document["status"] == response.status_code
    assert document["type"].startswith("urn:kgdx:problem:")
    return document


def test_every_answer_carries_the_security_headers() -> None:
    for path in ("/", "/static/app.js", "/api/v1/health", "/nowhere", "/api/v1/diseases/%00"):
        headers = call(Options(), "GET", path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers


def test_a_token_is_needed_where_one_is_set() -> None:
    options = Options(token=TOKEN)
    for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Authorization": f"Basic {TOKEN}"}):
        response = call(options, "GET", "/api/v1/sources", headers=given)
        assert problem(response)["status"] == 401
        assert TOKEN not in response.text and response.headers["www-authenticate"].startswith("Bearer")
    assert call(options, "GET", f"/api/v1/sources?token={TOKEN}").status_code == 401
    assert call(options, "GET", "/api/v1/sources", headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200
    twice = [("Authorization", f"Bearer {TOKEN}"), ("Authorization", "Bearer wrong")]
    assert call(options, "GET", "/api/v1/sources", headers=twice).status_code == 401


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/v1/health", "/api/v1/ready", "/api/v1/openapi.json"])
def test_what_says_nothing_of_anyone_needs_no_token(path: str) -> None:
    assert call(Options(token=TOKEN), "GET", path).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.nip.io"])
def test_a_name_that_someone_pointed_here_is_refused(host: str) -> None:
    assert problem(call(Options(), "GET", "/api/v1/health", headers={"Host": host}))["status"] == 421


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1", "[::1]:8765", "LOCALHOST", "kgdx.example:443"])
def test_a_name_of_the_server_is_answered(host: str) -> None:
    options = Options(hosts=("kgdx.example",))
    assert call(options, "GET", "/api/v1/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:9"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    ],
)
def test_a_page_of_another_site_cannot_ask(headers: dict[str, str]) -> None:
    pool = Answers()
    assert (
        problem(call(Options(), "POST", "/api/v1/diagnose", pool, json={"text": "x"}, headers=headers))["status"] == 403
    )
    assert pool.asked == []


def test_a_form_cannot_be_sent_as_json() -> None:
    for media in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        response = call(
            Options(), "POST", "/api/v1/diagnose", content=b'{"text": "x"}', headers={"Content-Type": media}
        )
        assert problem(response)["status"] == 415


def test_the_own_page_may_ask() -> None:
    headers = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    assert call(Options(), "POST", "/api/v1/diagnose", json={"text": "x"}, headers=headers).status_code == 200


def test_a_large_request_is_refused_by_its_length() -> None:
    response = call(Options(max_body=100), "POST", "/api/v1/extract", json={"text": "x" * 200})
    assert problem(response)["status"] == 413 and response.headers["connection"] == "close"


def test_a_large_request_is_refused_in_chunks_too() -> None:
    sent = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1000):
            sent += 1
            yield b"x" * 50

    response = call(
        Options(max_body=100), "POST", "/api/v1/extract", content=chunks(), headers={"Content-Type": "application/json"}
    )
    assert problem(response)["status"] == 413
    assert sent < 10


def test_a_request_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_guard, "BODY_S", 0.01)

    async def never() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(60)

    response = call(Options(), "POST", "/api/v1/extract", content=never(), headers={"Content-Type": "application/json"})
    assert problem(response)["status"] == 408


def test_a_client_that_asks_too_often_is_told_when_to_come_back() -> None:
    now = 0.0
    rates = Rates(2.0, clock=lambda: now)
    assert [rates.wait("a") for _ in range(4)] == [0.0] * 4
    assert rates.wait("a") == pytest.approx(0.5)
    assert rates.wait("b") == 0.0
    now = 0.5
    assert rates.wait("a") == 0.0
    assert rates.wait("a") > 0


def test_rates_of_many_clients_take_no_more_than_a_fixed_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_guard, "CLIENTS", 10)
    rates = Rates(1.0)
    for number in range(1000):
        rates.wait(str(number))
    assert len(rates._buckets) == 10


def test_too_many_requests_are_a_problem_with_a_time() -> None:
    async def run() -> list[httpx2.Response]:
        app = create_app(Options(rate=1), Answers(), Answers())  # type: ignore[arg-type]
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost") as client:
            return [await client.get("/api/v1/health") for _ in range(4)]

    last = asyncio.run(run())[-1]
    assert problem(last)["status"] == 429
    assert int(last.headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"text": 5}, "body.text"),
        ({"surprise": 1}, "body.surprise"),
        ({"text": "x", "top": 0}, "body.top"),
        ({"observed": ["x" * 400]}, "body.observed.0"),
        ({"age": "seven"}, "body.age"),
        ([], "body"),
    ],
)
def test_a_body_that_does_not_fit_is_told_where(body: Any, where: str) -> None:
    document = problem(call(Options(), "POST", "/api/v1/diagnose", json=body))
    assert document["status"] == 400
    assert document["errors"][0]["where"] == where


def test_a_refused_body_is_not_shown_again() -> None:
    response = call(Options(), "POST", "/api/v1/diagnose", json={"text": [SECRET], "top": SECRET})
    assert response.status_code == 400 and "Unmistakable" not in response.text


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b'{"text": "\\ud800"}', b'{"top": 1e999}'])
def test_a_body_that_is_no_json_is_a_problem(body: bytes) -> None:
    response = call(Options(), "POST", "/api/v1/diagnose", content=body, headers={"Content-Type": "application/json"})
    assert problem(response)["status"] in (400, 413, 422)


def test_the_log_says_who_asked_what_route_and_never_what() -> None:
    response = call(Options(), "POST", "/api/v1/extract", json={"text": SECRET})
    (line,) = response.extensions["log"]
    assert "POST /api/v1/extract 200" in line and "10.0.0.1" in line
    unknown = call(Options(), "GET", f"/api/v1/{SECRET}?q={SECRET}", headers={"Authorization": f"Bearer {TOKEN}"})
    strange = call(Options(), "SEIZURES", "/api/v1/diseases/seizures")
    for line in (*unknown.extensions["log"], *strange.extensions["log"]):
        assert "Unmistakable" not in line and "seizures" not in line.lower() and TOKEN not in line


def test_a_fault_tells_nobody_what_was_asked(capsys: pytest.CaptureFixture[str]) -> None:
    response = call(Options(), "POST", "/api/v1/extract", Answers(RuntimeError(SECRET)), json={"text": SECRET})
    assert problem(response)["status"] == 500
    assert "Unmistakable" not in response.text + "".join(capsys.readouterr())


def test_a_busy_server_says_when_to_come_back() -> None:
    response = call(Options(), "POST", "/api/v1/extract", Answers(RequestRefused(busy("busy"))), json={"text": "x"})
    assert problem(response)["status"] == 503
    assert response.headers["retry-after"] == "1"


def test_readiness_fails_without_a_graph_and_recovers() -> None:
    pool = Answers()
    pool.trouble = busy("no graph at /srv/secret-place")
    response = call(Options(), "GET", "/api/v1/ready", pool)
    assert problem(response)["status"] == 503 and "secret-place" not in response.text
    assert call(Options(), "GET", "/api/v1/health", pool).status_code == 200
    pool.trouble = None
    assert call(Options(), "GET", "/api/v1/ready", pool).json() == {"status": "ready", "workers": 1, "fingerprint": "f"}


def test_a_question_is_answered_in_events() -> None:
    pool = Answers(
        b'{"schema":"s"}', events=({"event": "step", "data": {"name": "rank"}}, {"event": "text", "data": "a\nb"})
    )
    response = call(Options(), "POST", "/api/v1/ask/events", pool, json={"question": "what?"})
    assert response.headers["content-type"].startswith("text/event-stream")
    events = [part.split("\n") for part in response.text.split("\n\n") if part.startswith("event:")]
    names = [lines[0].removeprefix("event: ") for lines in events]
    data = [json.loads(lines[1].removeprefix("data: ")) for lines in events]
    assert names == ["step", "text", "answer"] and data == [{"name": "rank"}, "a\nb", {"schema": "s"}]


def test_a_question_that_fails_ends_in_a_problem() -> None:
    refused = RequestRefused(Problem(502, "language-model", "the endpoint is down"))
    response = call(Options(), "POST", "/api/v1/ask/events", Answers(refused), json={"question": "what?"})
    assert response.text.split("\n\n")[-2].startswith("event: problem\ndata: {")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "kgdx.example", ""])
def test_other_machines_are_let_in_with_a_token_alone(host: str) -> None:
    with pytest.raises(UsageError, match="token"):
        Options(host=host).checked()
    assert Options(host=host, token=TOKEN).checked().host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LocalHost"])
def test_this_machine_needs_no_token(host: str) -> None:
    assert is_loopback(host) and Options(host=host).checked()


@pytest.mark.parametrize(
    "token", ["", "short", "with space in it 123", "non-ascii-é-012345678", "line\nbreak-01234567"]
)
def test_a_token_that_is_weak_or_fits_no_header_is_refused(token: str) -> None:
    with pytest.raises(UsageError, match="token"):
        Options(token=token).checked()


def test_a_token_never_shows_in_the_options() -> None:
    assert TOKEN not in repr(Options(token=TOKEN))


def test_a_token_is_read_from_a_private_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGDX_SERVE_TOKEN", "from-the-environment")
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        read_token(file)
    file.chmod(0o600)
    assert read_token(file) == TOKEN
    assert read_token(None) == "from-the-environment"


def test_a_token_file_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch(mode=0o600)
    for file in (empty, tmp_path / "missing", tmp_path):
        with pytest.raises(ConfigError, match="token"):
            read_token(file)
