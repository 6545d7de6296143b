"""Load test of `kgdx serve`: distinct real patients at a steady rate, latency counted from when each was due.

    python -m benchmarks.serve phenopackets.jsonl.gz --rate 100 --seconds 30

The requests come as a Poisson process whatever the server does (open loop), so a slow answer delays none of the others
and hides nothing. Each is the findings of a different phenopacket, and its answer the ten best diseases, explained
only as --explain asks. No answer is cached; a worker keeps how alike
512 phenotypes are to all diseases. The generator is one asyncio process that shares the machine with the server.
--as-fast-as N has N clients that ask again as soon as they are answered, which finds the most that the server can do.
--idle N holds N connections that say nothing beside it, and --slow N those that send a request a byte at a time; each
is opened again when the server ends it. The table then shows what the patients' requests notice of them.
--hostile then does what is meant to stop the server, one thing after the other, while another client asks for
diagnoses, and prints what became of it, how long the other client waited at most, and how many workers were lost.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import itertools
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import numpy as np

HEAD = (
    b"POST /api/v1/diagnose HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
)


class Connection(asyncio.Protocol):
    """One kept-alive connection with one request on its way at a time."""

    lost = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.buffer, self.need, self.size, self.lost = transport, b"", -1, 0, False

    def ask(self, request: bytes) -> asyncio.Future[tuple[int, int]]:
        self.buffer, self.need, self.size = b"", -1, 0
        self.answer: asyncio.Future[tuple[int, int]] = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self.answer

    def data_received(self, data: bytes) -> None:
        self.size += len(data)
        if self.need < 0:
            self.buffer += data
            head, found, _ = self.buffer.partition(b"\r\n\r\n")
            if not found:
                return
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            self.need, self.status = len(head) + 4 + int(length.split(b":")[1]), int(head[9:12])
        if self.size >= self.need and not self.answer.done():
            self.answer.set_result((self.status, self.size))

    def connection_lost(self, error: Exception | None) -> None:
        self.lost = True
        if hasattr(self, "answer") and not self.answer.done():
            self.answer.set_result((0, 0))


async def load(host: str, port: int, requests: list[bytes], rate: float, seed: int) -> list[tuple[float, int, int]]:
    """Send the requests and return for each its latency in ms, status and size."""
    loop = asyncio.get_running_loop()
    idle: asyncio.LifoQueue[Connection] = asyncio.LifoQueue()
    for _ in range(128):
        idle.put_nowait(Connection())
    rng, due, found, tasks = random.Random(seed), loop.time() + 0.1, [], []

    async def one(request: bytes, due: float) -> None:
        connection = await idle.get()
        if connection.lost:  # the server ends those that are not used for long
            connection = (await loop.create_connection(Connection, host, port))[1]
        status, size = await connection.ask(request)
        found.append(((loop.time() - due) * 1000, status, size))
        idle.put_nowait(connection)

    for request in requests:
        due += rng.expovariate(rate)
        await asyncio.sleep(max(0.0, due - loop.time()))
        tasks.append(asyncio.create_task(one(request, due)))
    await asyncio.gather(*tasks)
    return found


async def flood(host: str, port: int, requests: list[bytes], at_once: int) -> list[tuple[float, int, int]]:
    """Send the requests as fast as they are answered, and return for each its latency in ms, status and size."""
    loop, rest, found = asyncio.get_running_loop(), iter(requests), list[tuple[float, int, int]]()

    async def client() -> None:
        connection = (await loop.create_connection(Connection, host, port))[1]
        for request in rest:
            started = loop.time()
            status, size = await connection.ask(request)
            found.append(((loop.time() - started) * 1000, status, size))

    await asyncio.gather(*(client() for _ in range(at_once)))
    return found


async def beside(
    place: tuple[str, int], idle: int, slow: int, sending: Coroutine[Any, Any, list[tuple[float, int, int]]]
) -> list[tuple[float, int, int]]:
    """Send requests while other connections say nothing, or a byte of a request every half second."""

    async def hold(words: bytes) -> None:
        while True:
            try:
                reader, writer = await asyncio.open_connection(*place)
                for byte in words:
                    writer.write(bytes([byte]))
                    await writer.drain()
                    await asyncio.sleep(0.5)
                await reader.read()
                writer.close()
            except OSError:
                await asyncio.sleep(0.5)

    words = [b""] * idle + [HEAD % 1] * slow
    held = [asyncio.create_task(hold(each)) for each in words]
    await asyncio.sleep(1.0 if held else 0.0)
    try:
        return await sending
    finally:
        for each in held:
            each.cancel()


async def one(place: tuple[str, int], request: bytes) -> int:
    """Send a request on a connection of its own and return the status."""
    loop = asyncio.get_running_loop()
    transport, connection = await loop.create_connection(Connection, *place)
    try:
        return (await connection.ask(request))[0]
    finally:
        transport.abort()


def post(path: bytes, body: bytes) -> bytes:
    return (HEAD % len(body)).replace(b"/api/v1/diagnose", path) + body


async def members(place: tuple[str, int]) -> str:
    body = b"{" + b",".join(b'"m%d":1' % number for number in range(140_000)) + b"}"
    return f"answered {await one(place, post(b'/api/v1/diagnose', body))}"


async def silent(place: tuple[str, int]) -> str:
    held = [await asyncio.open_connection(*place) for _ in range(1010)]
    found = Counter([await one(place, b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n") for _ in range(100)])
    for _, writer in held:
        writer.transport.abort()
    return f"100 others beside them: {dict(found)}"


async def header(place: tuple[str, int]) -> str:
    reader, writer = await asyncio.open_connection(*place)
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
    sent = 0
    with contextlib.suppress(ConnectionError):
        while sent < 80_000_000 and not reader.at_eof():
            writer.write(b"x" * 65_536)
            await writer.drain()
            sent += 65_536
    writer.transport.abort()
    return f"ended after {sent / 1e6:.1f} MB"


async def aborted(place: tuple[str, int]) -> str:
    question = post(b"/api/v1/ask/events", b'{"question": "Which genes are associated with Marfan syndrome?"}')
    for _ in range(60):
        reader, writer = await asyncio.open_connection(*place)
        writer.write(question)
        await reader.readuntil(b": started")
        writer.transport.abort()
    started = time.monotonic()
    status = await one(place, question.replace(b"/events", b""))
    return f"a question after them: {status} in {(time.monotonic() - started) * 1000:.0f} ms"


HOSTILE = {
    "140,000 unknown members": members,
    "1,010 silent connections": silent,
    "80 MB in one header": header,
    "60 aborted streams": aborted,
}


async def hostile(place: tuple[str, int], pid: int, requests: list[bytes]) -> None:
    """Do what is meant to stop the server, and print what another client, and the workers, notice of it."""
    waits = list[float]()

    async def ask() -> None:
        for request in itertools.cycle(requests):
            started = time.monotonic()
            if await one(place, request) == 200:
                waits.append((time.monotonic() - started) * 1000)
            await asyncio.sleep(0.02)

    async def nothing(place: tuple[str, int]) -> str:
        await asyncio.sleep(2)
        return "for comparison"

    for what, act in {"nothing": nothing, **HOSTILE}.items():
        waits.clear()
        before, asking = processes(pid)[1:], asyncio.create_task(ask())
        spent = processor_time(pid)
        said = await act(place)
        await asyncio.sleep(0.5)
        asking.cancel()
        server, workers, _ = (processor_time(pid) - spent) * 1000
        lost = len(set(before) - set(processes(pid)))
        print(
            f"{what:>25}: {said}; the other waits {max(waits, default=0):.0f} ms at most ({len(waits)} times); "
            f"{lost} workers lost; CPU ms of the server {server:.0f}, of the workers {workers:.0f}"
        )


def processes(pid: int) -> list[int]:
    """The process and its children."""
    pids = [pid]
    for each in pids:
        pids += [int(child) for child in Path(f"/proc/{each}/task/{each}/children").read_text().split()]
    return pids


def memory(pid: int) -> str:
    """Memory of the server and of each worker in MB: in all, and what it shares with nobody."""
    said = []
    for number, each in enumerate(processes(pid)):
        lines = (line.split() for line in Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()[1:])
        size = {line[0].rstrip(":"): int(line[1]) / 1000 for line in lines}
        own = size["Private_Clean"] + size["Private_Dirty"]
        said.append(f"{f'worker {number}' if number else 'server'} {size['Rss']:.0f} MB ({own:.0f} its own)")
    return ", ".join(said)


def processor_time(pid: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Seconds of processor time of the server, of its workers, and of the load's own process."""
    spent = []
    for each in processes(pid):
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        spent.append((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
    return np.array([spent[0], sum(spent[1:]), time.process_time()])


def requests_of(file: Path, n: int, seed: int, explain: int) -> list[bytes]:
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as stream:
        packets = [json.loads(line) for line in stream]
    random.Random(seed).shuffle(packets)
    if n > len(packets):
        sys.exit(f"{n} requests are wanted and the file has {len(packets)} patients: lower --rate or --seconds")
    found = []
    for packet in packets[:n]:
        packet = {"id": packet["id"], "phenotypicFeatures": packet["phenotypicFeatures"]}
        body = json.dumps({"phenopacket": packet, "top": 10, "explain": explain}).encode()
        found.append(HEAD % len(body) + body)
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path, help="phenopackets, a JSON document a line")
    parser.add_argument("--rate", type=float, nargs="+", default=[100.0], help="requests a second")
    parser.add_argument("--as-fast-as", type=int, nargs="*", default=[], metavar="N", help="clients that never rest")
    parser.add_argument("--idle", type=int, default=0, help="connections beside it that say nothing")
    parser.add_argument("--slow", type=int, default=0, help="connections beside it that send a byte at a time")
    parser.add_argument("--hostile", action="store_true", help="also do what is meant to stop the server")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--warm", type=int, default=200, help="requests before the measurement, of other patients")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--explain", type=int, default=0, help="for how many diseases to ask why")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store")
    return parser.parse_args()


def measured(pid: int, title: str, sending: Coroutine[Any, Any, list[tuple[float, int, int]]]) -> str:
    """Send requests and return the line of the table."""
    before, started = processor_time(pid), time.monotonic()
    found = asyncio.run(sending)
    spent = time.monotonic() - started
    server, workers, load = (processor_time(pid) - before) / len(found) * 1000
    good = [latency for latency, status, _ in found if status == 200] or [float("nan")]
    p50, p95, p99 = np.percentile(good, [50, 95, 99])
    size = np.mean([size for _, _, size in found]) / 1000
    statuses = dict(Counter(status for _, status, _ in found))
    return (
        f"{title:>11}  {len(good) / spent:10.1f}  {p50:6.1f}  {p95:6.1f}  {p99:6.1f}  {max(good):6.1f}  "
        f"{size:7.0f}  {server:9.1f} {workers:8.1f} {load:5.1f}  {statuses}"
    )


def main() -> None:
    given = arguments()
    command = [sys.executable, "-m", "kgdx", "serve", "--port", "0", "--rate", "0", "--quiet"]
    command += ["--workers", str(given.workers), *(["--store", given.store] if given.store else [])]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        address = server.stderr.readline()
        if "http://" not in address:
            sys.exit(address)
        place = ("127.0.0.1", int(address.rstrip("/\n").rpartition(":")[2]))
        counts = [int(rate * given.seconds) for rate in given.rate] + [int(100 * given.seconds)] * len(given.as_fast_as)
        requests = requests_of(given.cases, given.warm + sum(counts), given.seed, given.explain)
        asyncio.run(load(*place, requests[: given.warm], 20.0, given.seed))
        spare, requests = requests[: given.warm], requests[given.warm :]
        print(f"{given.workers} workers; each answer: 10 diseases, {given.explain} of them explained")
        if given.idle or given.slow:
            print(f"beside it {given.idle} connections that say nothing and {given.slow} that send a byte at a time")
        print(" rate asked  answered/s  p50 ms  p95 ms  p99 ms  max ms  kB each  CPU ms: server workers load  statuses")
        for rate in given.rate:
            part, requests = requests[: counts[0]], requests[counts.pop(0) :]
            print(
                measured(
                    server.pid,
                    f"{rate:.0f}",
                    beside(place, given.idle, given.slow, load(*place, part, rate, given.seed)),
                )
            )
        for clients in given.as_fast_as:
            part, requests = requests[: counts[0]], requests[counts.pop(0) :]
            print(
                measured(
                    server.pid,
                    f"{clients} clients",
                    beside(place, given.idle, given.slow, flood(*place, part, clients)),
                )
            )
        if given.hostile:
            asyncio.run(hostile(place, server.pid, spare))
        print(f"memory: {memory(server.pid)}")
    finally:
        server.terminate()
        server.wait(20)


if __name__ == "__main__":
    main()
