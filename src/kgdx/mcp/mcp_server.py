"""Serves the tools: over standard input and output, or over HTTP behind the guard of ``kgdx serve``."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from kgdx.errors import KgdxError, MissingExtraError
from kgdx.mcp.graph_tools import Tools
from kgdx.serve.server_options import Options

if TYPE_CHECKING:
    from mcp.server import MCPServer

PATH = "/api/mcp"
"""Where it is served over HTTP."""

INSTRUCTIONS = """A knowledge graph of diseases with their findings, genes and sources, for diagnosis. With diagnose
rank what fits a patient; with explain say why; with search find names; with look_up read what sources state; with
consult_begin let the graph ask. Results rest on the graph alone: say what it says, with its sources, and what it does
not know. It is decision support for research, to be judged by a clinician. Send nothing that identifies a person."""


class Turns:
    """Runs what is asked in turn, in the thread that opened the graph; nobody waits for what takes long."""

    def __init__(self, opened: Callable[[], Tools], seconds: float) -> None:
        self._seconds = seconds
        self._thread = ThreadPoolExecutor(1, "kgdx-mcp")
        self.tools = self._thread.submit(opened).result()

    async def run(self, work: Callable[[], str]) -> str:
        """Return what work comes to, or the one line that says why there is nothing."""
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except TimeoutError:
            return f"error: no answer within {self._seconds:g} s: ask for less at once"
        except KgdxError as error:
            return f"error: {error}"
        except Exception as error:  # its words may be a patient's
            print(f"kgdx mcp: {type(error).__name__} while answering", file=sys.stderr, flush=True)
            return "error: this could not be answered: report it"

    def close(self) -> None:
        """End the thread, and close the graph."""
        self._thread.submit(self.tools.graph.close).result()
        self._thread.shutdown()


def server(turns: Turns) -> MCPServer:
    """Return the server of a graph's tools and resources."""
    try:
        from mcp.server import MCPServer
        from mcp.types import ToolAnnotations
    except ImportError:
        raise MissingExtraError("kgdx mcp", "mcp") from None
    from importlib.metadata import version

    made = MCPServer("kgdx", instructions=INSTRUCTIONS, version=version("kgdx"), log_level="ERROR")
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for tool in turns.tools.every:
        made.add_tool(_turned(turns, tool), annotations=reads, structured_output=False)
    made.resource("kgdx://graph", mime_type="application/json")(_turned(turns, turns.tools.about))
    made.resource("kgdx://actions", mime_type="text/plain")(_turned(turns, turns.tools.actions))
    made.resource("kgdx://disease/{disease}", mime_type="text/plain")(_turned(turns, turns.tools.disease))
    return made


def _turned(turns: Turns, tool: Callable[..., str]) -> Callable[..., Any]:
    """Return a tool of the protocol: with the signature and the words of a method, which runs when its turn comes."""

    @wraps(tool)
    async def asked(**given: Any) -> str:
        return await turns.run(partial(tool, **given))

    return asked


def run(options: Options, *, http: bool, started: Callable[[str], None]) -> None:
    """Serve until the client goes, or over HTTP until told to stop."""
    options.checked()
    turns = Turns(lambda: _opened(options), options.seconds)
    try:
        made = server(turns)
        if http:
            _listen(made, options, started)
        else:
            asyncio.run(made.run_stdio_async())
    finally:
        turns.close()


def _opened(options: Options) -> Tools:
    import kgdx

    graph = kgdx.open(options.store, encoder=options.encoder)
    graph.names  # noqa: B018 - opened before anybody waits for it
    return Tools(graph)


def application(made: MCPServer, options: Options) -> Any:
    """Return the server as an application of HTTP that the guard stands before; it keeps nothing between requests."""
    from mcp.server.transport_security import TransportSecuritySettings

    from kgdx.serve.request_guard import Guard
    from kgdx.serve.run_server import log

    inner = made.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=options.max_body,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard's matter
        host=options.host,
    )
    return Guard(inner, options, log=log)


def _listen(made: MCPServer, options: Options, started: Callable[[str], None]) -> None:
    from kgdx.serve.connections import http_server, places
    from kgdx.serve.run_server import listening

    app: Any = application(made, options)
    with listening(options.host, options.port) as place:
        started(f"http://{options.host}:{place.getsockname()[1]}{PATH}")
        http_server(app, options, places()).run(sockets=[place])
