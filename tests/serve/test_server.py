from __future__ import annotations

import contextlib
import gzip
import json
import os
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import kgdx
from conftest import require_module

require_module("fastapi", "serve")
require_module("httpx2", "serve-test")

import httpx2  # noqa: E402

from kgdx.errors import StoreError, UsageError  # noqa: E402
from kgdx.serve import Options, serve  # noqa: E402
from kgdx.serve.run_server import listening  # noqa: E402

from .conftest import Running, serving  # noqa: E402

pytestmark = pytest.mark.heavy

SECRET = "Mrs Unmistakable has seizures and ataxia."


@pytest.fixture
def client(server: Running) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=f"{server.address}/api/v1", timeout=60) as client:
        yield client


def workers(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def until(true: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.1)


def test_a_diagnosis_over_http_is_that_of_the_library(
    client: httpx2.Client, default_graph: Path, shared_data: Path
) -> None:
    with gzip.open(shared_data / "phenopackets-dev.jsonl.gz", "rt", encoding="utf-8") as stream:
        packets = [json.loads(next(stream)) for _ in range(5)]
    with kgdx.open(default_graph) as graph:
        for packet in packets:
            found = client.post("/diagnose", json={"phenopacket": packet, "top": 7, "explain": 2}).json()
            expected = json.loads(graph.diagnose(packet, top=7, explain=2).to_json(trace=False))
            assert found["candidates"] == expected["candidates"] and found["evidence"] == expected["evidence"]
            assert len(found["candidates"]) == 7 and len(found["evidence"]) == 2


def test_words_and_terms_make_one_patient(client: httpx2.Client) -> None:
    given = {
        "text": "She has ataxia.",
        "observed": ["Seizure"],
        "excluded": ["HP:0000365"],
        "sex": "FEMALE",
        "age": "P7Y",
    }
    case = client.post("/diagnose", json=given).json()["case"]
    assert {(each["label"], each["status"]) for each in case["findings"]} == {
        ("Ataxia", "present"),
        ("Seizure", "present"),
        ("Hearing impairment", "absent"),
    }
    assert (case["sex"], case["age"]) == ("FEMALE", "P7Y") and "text" not in case


def test_who_the_patient_is_changes_the_ranking_and_is_told(client: httpx2.Client) -> None:
    given = {
        "observed": ["Ataxia", "Telangiectasia"],
        "age": "3 months",
        "onset": "infantile",
        "genes": ["ATM", "FBN1"],
    }
    found = client.post("/diagnose", json={**given, "consanguineous": True, "inheritance": "AR", "explain": 1}).json()
    assert (found["case"]["age"], found["case"]["onset"], found["case"]["n_genes"]) == ("P3M", "HP:0003593", 2)
    best = found["candidates"][0]
    assert best["id"] == "OMIM:208900" and {"onset", "inheritance", "gene_evidence"} <= set(best["parts"])
    assert "its gene ATM is among 2 candidate genes" in {each.get("text") for each in best["contributions"]}


def test_one_disease_is_explained_wherever_it_stands(client: httpx2.Client) -> None:
    given = {"observed": ["HP:0001250"], "disease": "OMIM:190350"}
    found = client.post("/explain", json=given).json()
    (candidate,) = found["candidates"]
    assert "OMIM:190350" in candidate["members"] and candidate["rank"] > 100
    assert found["evidence"][candidate["id"]]


def test_a_text_is_read_with_who_it_is_and_what_was_not_read(client: httpx2.Client) -> None:
    text = "A 12-year-old boy with ataxia, no seizures. Blorbs when glimmed. His mother has ataxia."
    found = client.post("/extract", json={"text": text}).json()
    assert (found["case"]["age"], found["case"]["sex"], found["text"]) == ("P12Y", "MALE", text)
    assert [text[each["start"] : each["end"]] for each in found["unread"]] == ["Blorbs when glimmed"]
    assert all(each["text"] == "" for each in found["unread"])
    stated = {(each["id"], each["status"]) for each in found["case"]["findings"]}
    assert stated == {("HP:0001251", "present"), ("HP:0001250", "absent"), ("HP:0001251", "family")}
    assert client.post("/extract", json={"text": "Nothing of note."}).json()["case"]["findings"] == []


def test_a_phenopacket_is_read_like_a_text(client: httpx2.Client) -> None:
    packet = {"id": "p-1", "phenotypicFeatures": [{"type": {"id": "HP:0001250"}}]}
    found = client.post("/extract", json={"document": packet}).json()
    assert found["case"]["id"] == "p-1" and found["case"]["findings"][0]["label"] == "Seizure"
    assert client.post("/extract", json={"document": packet, "text": "fits"}).status_code == 422
    assert client.post("/extract", json={"document": {"colour": "red"}}).status_code == 422


def test_corrected_findings_stand_for_what_a_text_says(client: httpx2.Client) -> None:
    given = {
        "title": "Boy A",
        "text": "Ataxia, seizures, ptosis, short stature. A boy, his baby sister is well.",
        "findings": [
            {"id": "HP:0001251", "start": 0, "end": 6, "text": "Ataxia"},
            {"id": "HP:0001250", "status": "absent", "start": 8, "end": 16},
            {"id": "HP:0000508", "status": "removed", "start": 18, "end": 24},
            {"id": "HP:0004322", "start": 26, "end": 39, "text": "short stature"},
        ],
    }
    found = client.post("/diagnose", json=given).json()
    assert found["case"]["id"] == "Boy A"
    stated = [(each["id"], each["status"], each["start"]) for each in found["findings"]]
    assert stated == [("HP:0001251", "present", 0), ("HP:0001250", "absent", 8), ("HP:0004322", "present", 26)]
    given = {"observed": ["HP:0001251", "HP:0004322"], "excluded": ["HP:0001250"]}
    plain = client.post("/diagnose", json=given).json()
    assert found["candidates"] and [each["id"] for each in found["candidates"]] == [
        each["id"] for each in plain["candidates"]
    ]
    several = [{"id": "HP:0001251", "since": "P3D"}, {"id": "HP:0001250"}, {"id": "HP:0004322"}]
    seen = {"text": "Seen in the genetics clinic.", "findings": several}
    found = client.post("/diagnose", json=seen).json()
    assert found["judgement"]["setting"] == "referral"  # what the text says beside its findings counts
    assert found["case"]["findings"][0]["since"] == "P3D"
    unknown = client.post("/diagnose", json={"findings": [{"id": "blorb"}]})
    assert unknown.status_code == 422 and "unknown term" in unknown.json()["detail"]
    assert client.post("/diagnose", json={"findings": [], "text": ""}).status_code == 422


def test_what_separates_the_leaders_or_two_diseases_is_proposed(client: httpx2.Client) -> None:
    given = {"observed": ["HP:0001251", "HP:0000524"], "count": 4}
    found = client.post("/questions", json=given).json()
    assert len(found["leaders"]) == 4 and len(found["questions"]) == 4
    assert all(len(each["often"]) == 4 and each["bits"] > 0 for each in found["questions"])
    best = found["questions"][0]["often"]
    assert max(best) - min(best) > 0.5, "some of the leaders show it, others do not"
    two = client.post("/questions", json={**given, "between": ["OMIM:208900", "OMIM:271250"]}).json()
    assert [each["id"] for each in two["leaders"]] == ["OMIM:208900", "OMIM:271250"]
    one, other = two["questions"][0]["often"]
    assert abs(one - other) > 0.5
    assert client.post("/questions", json={**given, "between": ["OMIM:0"]}).status_code == 422


def test_phenotypes_are_named_in_both_languages(client: httpx2.Client) -> None:
    names = client.post("/names", json={"ids": ["HP:0001251", "HP:9999999"]}).json()["names"]
    assert names == [{"id": "HP:0001251", "name": "Ataxia", "name_zh": "共济失调"}]


def test_what_the_graph_lacks_is_told_with_its_command(client: httpx2.Client) -> None:
    found = client.get("/sources").json()
    assert found["nodes"]["Disease"] > 1000
    assert any(each["name"] == "mondo" and "kgdx update" in each["command"] for each in found["absent"])


def test_names_are_completed(client: httpx2.Client) -> None:
    found = client.post("/terms", json={"prefix": "seiz", "limit": 3}).json()["terms"]
    assert found[0]["id"] == "HP:0001250" and len(found) == 3
    kinds = {
        each["kind"] for each in client.post("/terms", json={"prefix": "atax", "kinds": ["Disease"]}).json()["terms"]
    }
    assert kinds == {"Disease"}


def test_a_disease_and_the_sources_are_shown(client: httpx2.Client) -> None:
    disease = client.get("/diseases/OMIM:208900").json()
    assert disease["name"] == "Ataxia-telangiectasia" and len(disease["phenotypes"]) > 10
    assert client.get("/diseases/OMIM:0").status_code == 404
    found = client.get("/sources").json()
    assert {"hp", "hpoa", "genes"} <= {each["id"] for each in found["sources"]} and found["build"]["fingerprint"]


def test_a_question_is_answered_by_rules(client: httpx2.Client) -> None:
    answer = client.post("/ask", json={"question": "Which genes are associated with ataxia-telangiectasia?"}).json()
    assert "ATM" in json.dumps(answer)
    events = client.post("/ask/events", json={"question": "Which genes are associated with ataxia-telangiectasia?"})
    assert events.text.count("event: step") > 3 and "event: answer" in events.text


def test_a_result_becomes_a_page_in_which_names_are_only_names(client: httpx2.Client) -> None:
    document = client.post("/diagnose", json={"observed": ["Seizure"], "top": 2}).json()
    document["candidates"][0]["name"] = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    for part in (True, False):
        html = client.post("/page", json={"document": document, "part": part}).json()["html"]
        assert "<script>alert" not in html and "<img" not in html and "&lt;script&gt;" in html
    assert client.post("/page", json={"document": {"schema": "other"}}).status_code == 422


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "empty"),
        ({"text": "   "}, "empty"),
        ({"observed": ["Seizzzzurrrre of the xyz"]}, "Seizzzzurrrre"),
        ({"phenopacket": {}}, ""),
        ({"phenopacket": {"phenotypicFeatures": [{"type": {"id": 5}}]}}, ""),
        ({"phenopacket": {"phenotypicFeatures": []}, "text": "x"}, "beside"),
        ({"excluded": ["HP:0001250"]}, "no observed finding"),
        ({"observed": ["MATCH (n) DETACH DELETE n"]}, "MATCH"),
    ],
)
def test_a_case_that_is_none_is_refused_with_a_reason(client: httpx2.Client, given: dict[str, Any], says: str) -> None:
    response = client.post("/diagnose", json=given)
    assert response.status_code == 422 and response.headers["content-type"] == "application/problem+json"
    assert says in response.json()["detail"]


def test_a_text_without_a_finding_is_answered_without_a_ranking(client: httpx2.Client) -> None:
    found = client.post("/diagnose", json={"text": "Nothing of note."}).json()
    assert (found["candidates"], found["judgement"]["level"]) == ([], "nothing")


def test_text_of_any_kind_is_read_or_refused(client: httpx2.Client) -> None:
    for text in (
        "\0",
        "<script>alert(1)</script> seizures",
        "癫痫发作",
        "𝕤𝕖𝕚𝕫𝕦𝕣𝕖",
        "a" * 200_000,
        "seizures, " * 15_000,
    ):
        assert client.post("/extract", json={"text": text}).status_code == 200
    assert client.post("/extract", json={"text": "a" * 200_001}).status_code == 400


def test_the_log_has_no_word_of_a_patient(server: Running, client: httpx2.Client) -> None:
    client.post("/diagnose", json={"text": SECRET})
    client.post("/terms", json={"prefix": "Unmistakable"})
    client.get("/Unmistakable")
    until(lambda: server.log.count("404") > 0)
    assert "/api/v1/diagnose 200" in server.log
    assert "Unmistakable" not in server.log and "seizure" not in server.log.lower()


def test_a_worker_that_is_killed_is_replaced(server: Running, client: httpx2.Client) -> None:
    for worker in workers(server.process.pid):
        os.kill(worker, signal.SIGKILL)
    client.post("/extract", json={"text": "fever"})  # may be the request that finds it dead
    until(lambda: client.post("/extract", json={"text": "fever"}).status_code == 200)
    until(lambda: client.get("/ready").status_code == 200)


def test_many_at_once_are_answered_or_told_to_come_back(server: Running) -> None:
    def one(number: int) -> int:
        response = httpx2.post(
            f"{server.address}/api/v1/diagnose", json={"observed": ["Seizure"], "top": 1 + number % 9}, timeout=60
        )
        assert response.status_code == 200 or "retry-after" in response.headers
        return response.status_code

    with ThreadPoolExecutor(16) as threads:
        statuses = list(threads.map(one, range(64)))
    assert set(statuses) <= {200, 503} and statuses.count(200) > 32


def test_half_a_request_is_nobodys_trouble(server: Running, client: httpx2.Client) -> None:
    host, _, port = server.address.removeprefix("http://").partition(":")
    for start in (
        b"GET / HTTP/1.1\r\nHo",
        b"\x00\xff\x00",
        b"POST /api/v1/diagnose HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ):
        with socket.create_connection((host, int(port))) as raw:
            raw.sendall(start)
    for smuggled in (b"Content-Length: 5\r\nTransfer-Encoding: chunked", b"Content-Length: 5\r\nContent-Length: 6"):
        with socket.create_connection((host, int(port))) as raw:
            raw.sendall(b"POST /api/v1/extract HTTP/1.1\r\nHost: localhost\r\n" + smuggled + b"\r\n\r\n0\r\n\r\n")
            raw.settimeout(20)
            assert b" 200 " not in raw.recv(4096)
    assert client.get("/health").status_code == 200


def test_a_path_leads_out_of_nowhere(server: Running) -> None:
    host, _, port = server.address.removeprefix("http://").partition(":")
    for path in ("/static/../index.html", "/static/%2e%2e/app.py", "/static/..%2f..%2fapp.py", "/static//etc/passwd"):
        with socket.create_connection((host, int(port))) as raw:
            raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda raw=raw: raw.recv(65536), b""))  # type: ignore[misc]
        assert answer.startswith(b"HTTP/1.1 404"), path


def test_a_new_build_is_served_without_a_restart(tmp_path: Path, tiny: Path) -> None:
    files = {"hp": "hp.obo", "hpoa": "phenotype.hpoa", "genes": "genes_to_phenotype.txt"}
    folder = tmp_path / "graph"
    old = kgdx.build({name: str(tiny / file) for name, file in files.items()}, store=folder).fingerprint
    with serving(folder) as running, httpx2.Client(base_url=f"{running.address}/api/v1", timeout=60) as client:
        until(lambda: client.get("/ready").status_code == 200)
        assert client.get("/ready").json()["fingerprint"] == old
        files["hp_zh"] = "hp-zh.babelon.tsv"
        new = kgdx.build({name: str(tiny / file) for name, file in files.items()}, store=folder).fingerprint
        assert new != old
        until(lambda: client.get("/ready").json()["fingerprint"] == new)
        assert client.post("/diagnose", json={"observed": ["HP:0001250"]}).json()["fingerprint"] == new
        shutil.rmtree(folder)
        until(lambda: client.get("/ready").status_code == 503)
        kgdx.build({name: str(tiny / file) for name, file in files.items()}, store=folder)
        until(lambda: client.get("/ready").status_code == 200)
        assert client.post("/diagnose", json={"observed": ["HP:0001250"]}).status_code == 200


def test_a_server_told_to_stop_finishes_what_it_has(default_graph: Path) -> None:
    with serving(default_graph, "--rate", "0") as running:
        until(lambda: httpx2.get(f"{running.address}/api/v1/ready").status_code == 200)
        body = json.dumps({"observed": ["Seizure", "Ataxia", "Fever"], "top": 100, "explain": 20}).encode()
        head = b"POST /api/v1/diagnose HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        host, _, port = running.address.removeprefix("http://").partition(":")
        children = workers(running.process.pid)
        with socket.create_connection((host, int(port)), timeout=60) as raw:
            raw.sendall(b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            told = b""
            while not told.endswith(b'{"status":"ok"}'):  # the connection is the server's before it is told
                told += raw.recv(65536)
            raw.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            running.process.send_signal(signal.SIGTERM)
            assert raw.recv(65536).startswith(b"HTTP/1.1 200")
        assert running.process.wait(30) in (0, -signal.SIGTERM)
    until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
    assert "Traceback" not in running.log


def test_workers_end_with_a_server_that_is_killed(default_graph: Path) -> None:
    with serving(default_graph) as running:
        until(lambda: httpx2.get(f"{running.address}/api/v1/ready").status_code == 200)
        children = workers(running.process.pid)
        running.process.kill()
        until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))


def test_a_request_that_takes_too_long_is_told_so(default_graph: Path) -> None:
    with serving(default_graph, "--timeout", "0.1") as running:
        until(lambda: httpx2.get(f"{running.address}/api/v1/ready").status_code == 200)
        given = {"text": "seizures, ataxia, fever, " * 8000, "top": 100, "explain": 20}
        response = httpx2.post(f"{running.address}/api/v1/diagnose", json=given, timeout=60)
        assert response.status_code == 503 and response.json()["type"].endswith("time-out")
        assert response.headers["retry-after"]


def test_a_server_starts_only_where_it_can(default_graph: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no graph"):
        serve(Options(store=str(tmp_path / "nothing")), print)
    with listening("127.0.0.1", 0) as taken, pytest.raises(UsageError, match="cannot listen"):
        serve(Options(store=str(default_graph), port=taken.getsockname()[1]), print)
    with pytest.raises(UsageError, match="token"):
        serve(Options(store=str(default_graph), host="0.0.0.0"), print)


def test_a_server_for_others_asks_for_its_token(default_graph: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("0123456789abcdef-right")
    token.chmod(0o600)
    with serving(default_graph, "--host", "0.0.0.0", "--token-file", str(token)) as running:
        address = running.address.replace("0.0.0.0", "127.0.0.1")
        until(lambda: httpx2.get(f"{address}/api/v1/ready").status_code == 200)
        assert httpx2.get(f"{address}/api/v1/sources").status_code == 401
        headers = {"Authorization": "Bearer 0123456789abcdef-right"}
        assert httpx2.get(f"{address}/api/v1/sources", headers=headers).status_code == 200
        with contextlib.suppress(OSError):
            assert "0123456789abcdef" not in running.log + Path(f"/proc/{running.process.pid}/cmdline").read_text()
