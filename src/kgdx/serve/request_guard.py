"""What stands before every request: who may ask, from where, how much and how often; and what goes with every answer.

All of it is plain ASGI, so that it holds for pages, files and errors alike, and for a stream while it runs.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import sys
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import orjson
from starlette.responses import Response

from kgdx.serve.problems import MEDIA_TYPE, Problem, RequestRefused
from kgdx.serve.server_options import Options, same_token
from kgdx.serve.worker_pool import CLIENT

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = ("/api/v1/health", "/api/v1/ready", "/api/v1/openapi.json")
"""Paths of the API that need no token: they say nothing of the graph or of anyone."""

BODY_S = 10.0
"""How long a client may take to send a request."""

BURST_S = 2.0
"""For how many seconds' worth of requests a client may save up."""

HEADERS_MOST, HEADERS_BYTES = 100, 32_768
"""Most headers of a request, and most bytes of them with its address."""

VALUES, PAGE_VALUES = 20_000, 200_000
"""Most values of a request, and of a result to make a page of: each is an object of its own once it is read."""

CLIENTS = 10_000
"""How many clients' rates are kept; the one that has been quiet longest is forgotten first."""

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = tuple(
    (name.encode(), value.encode())
    for name, value in {
        "content-security-policy": _POLICY,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
    }.items()
)
"""Sent with every answer."""


class Head:
    """The headers of a request."""

    def __init__(self, scope: Scope) -> None:
        self._all: list[tuple[bytes, bytes]] = list(scope["headers"])

    def get(self, name: str) -> str:
        """Return a header; nothing where it is absent or there are two of it."""
        found = [value for key, value in self._all if key == name.encode()]
        return found[0].decode("latin-1").strip() if len(found) == 1 else ""

    @property
    def host(self) -> str:
        """The name that the request was sent to, without the port."""
        given = self.get("host")
        name = given[1:].partition("]")[0] if given.startswith("[") else given.partition(":")[0]
        return name.lower().rstrip(".")

    def large(self, scope: Scope) -> bool:
        """Whether there are more headers, or longer ones, than any client needs."""
        size = len(scope.get("raw_path", b"")) + len(scope.get("query_string", b""))
        size += sum(len(key) + len(value) for key, value in self._all)
        return len(self._all) > HEADERS_MOST or size > HEADERS_BYTES

    def foreign(self) -> bool:
        """Whether a page of another site sent the request."""
        if self.get("sec-fetch-site") in ("cross-site", "same-site"):
            return self.get("sec-fetch-mode") != "navigate"
        origins = [value for key, value in self._all if key == b"origin"]
        return bool(origins) and self.get("origin").partition("://")[2] != self.get("host")


class Guard:
    """Lets through what is allowed, and answers the rest with a problem."""

    def __init__(self, app: App, options: Options, log: Callable[[str], None] | None = None) -> None:
        self._app, self._options = app, options
        self._rates = Rates(options.rate)
        self._log = log if options.log_requests else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(scope, send)
        try:
            self._check(scope, Head(scope))
            await self._app(scope, await self._whole(scope, receive), answer.send)
        except RequestRefused as refused:
            await answer.refuse(refused.problem, receive)
        except Exception as error:  # what it says may hold a patient's words
            print(f"kgdx serve: {type(error).__name__} while answering", file=sys.stderr, flush=True)
            await answer.refuse(Problem(500, "failed", "the request could not be answered", "report it"), receive)
        finally:
            if self._log is not None:
                self._log(answer.line())

    def _check(self, scope: Scope, head: Head) -> None:
        """Raise where a request is not allowed; what costs least is looked at first."""
        if head.large(scope):
            hint = "send fewer and shorter headers"
            raise RequestRefused(
                Problem(431, "headers", "the headers of the request are too large", hint, headers=_CLOSE)
            )
        if not self._known(head.host):
            hint = "ask by its address, or allow the name with --allow-host"
            raise RequestRefused(Problem(421, "host", "this server does not answer by that name", hint))
        client = scope["client"][0] if scope.get("client") else ""
        CLIENT.set(client)
        if wait := self._rates.wait(client):
            after = {"Retry-After": str(math.ceil(wait))}
            raise RequestRefused(Problem(429, "rate", "too many requests", "send fewer of them", headers=after))
        if head.foreign():
            raise RequestRefused(
                Problem(403, "origin", "pages of other sites may not ask this server", "use its own page")
            )
        path = scope["path"]
        if self._options.token is not None and path.startswith("/api/") and path not in OPEN:
            scheme, _, token = head.get("authorization").partition(" ")
            if scheme.lower() != "bearer" or not same_token(token.strip(), self._options.token):
                challenge = {"WWW-Authenticate": 'Bearer realm="kgdx"'}
                hint = "send it in the header Authorization: Bearer …"
                raise RequestRefused(Problem(401, "token", "a valid token is needed", hint, headers=challenge))

    def _known(self, host: str) -> bool:
        """Whether the name in the request is one of this server: another may be somebody's DNS that points here."""
        if host in {"localhost", self._options.host.lower(), *(name.lower() for name in self._options.hosts)}:
            return True
        try:
            ipaddress.ip_address(host)  # an address is no name that anyone could point elsewhere
        except ValueError:
            return False
        return True

    async def _whole(self, scope: Scope, receive: Receive) -> Receive:
        limit, parts, size = self._options.max_body, [], 0
        too_large = RequestRefused(
            Problem(413, "size", f"the request has more than {limit:,} bytes", "send less at once", headers=_CLOSE)
        )
        declared = Head(scope).get("content-length")
        if declared and (not declared.isdigit() or int(declared) > limit):
            raise too_large
        try:
            async with asyncio.timeout(BODY_S):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise RequestRefused(Problem(400, "cut-off", "the request was cut off", "send it again"))
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > limit:
                        raise too_large
                    more = message.get("more_body", False)
        except TimeoutError:
            slow = Problem(408, "slow", f"the request did not arrive within {BODY_S:g} s", "send it again", {}, _CLOSE)
            raise RequestRefused(slow) from None
        return _again(b"".join(parts), receive)


_CLOSE = {"Connection": "close"}


def _again(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read already, and after it what comes then: that the client has gone."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def values(body: bytes) -> int:
    r"""Return about how many values a text of JSON holds, without reading it.

    Example:
        >>> values(b'{"text": "' + b", " * 90_000 + b'"}'), values(b"[" + b"1, " * 30_000 + b"1]")
        (1, 30001)
    """
    count = body.count(b",") + body.count(b"[") + body.count(b"{")
    if count <= VALUES:
        return count
    bare = b"".join(body.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    return bare.count(b",") + bare.count(b"[") + bare.count(b"{")


def response_of(problem: Problem) -> Response:
    return Response(orjson.dumps(problem.to_dict()), problem.status, dict(problem.headers), MEDIA_TYPE)


class Rates:
    """How often each client has asked: a bucket each that fills at a steady rate.

    Example:
        >>> rates = Rates(1.0, clock=lambda: 0.0)
        >>> [rates.wait("a"), rates.wait("a"), rates.wait("a"), rates.wait("b")]
        [0.0, 0.0, 1.0, 0.0]
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Count a request; return how many seconds to wait before it may be sent again, 0 where it may be answered."""
        if not self._rate:
            return 0.0
        now, most = self._clock(), max(1.0, self._rate * BURST_S)
        left, since = self._buckets.pop(client, (most, now))
        left = min(most, left + (now - since) * self._rate)
        allowed = left >= 1
        self._buckets[client] = (left - 1 if allowed else left, now)
        if len(self._buckets) > CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate


class _Answer:
    """The answer to one request on its way out: gets its headers, and is remembered for the log."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope, self._send = scope, send
        self._started = time.perf_counter()
        self._status, self._size = 0, 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            given = list(message.get("headers", ()))
            named = {name.lower() for name, _ in given}
            kept = [] if b"cache-control" in named else [(b"cache-control", b"no-store")]
            message = {**message, "headers": [*given, *kept, *HEADERS]}
        else:
            self._size += len(message.get("body", b""))
        await self._send(message)

    async def refuse(self, problem: Problem, receive: Receive) -> None:
        if not self._status:
            await response_of(problem)(self._scope, receive, self.send)

    def line(self) -> str:
        """Return the line of the log: the route's pattern and never the path itself, which anyone may fill."""
        route = getattr(self._scope.get("route"), "path", "-")
        spent = (time.perf_counter() - self._started) * 1000
        client = self._scope["client"][0] if self._scope.get("client") else "-"
        method = self._scope["method"] if self._scope["method"] in _METHODS else "OTHER"
        return f"{client} {method} {route} {self._status} {self._size} B {spent:.1f} ms"


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
