"""Links that open Neo4j Browser with a query in its editor.

Neo4j Browser takes no bound parameters from a link, so a template of ``cypher/browser`` is sent with its parameters
written out as literals that no value can break out of.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote, urlsplit

from kgdx.config import Neo4jAccess, Settings, same_server
from kgdx.errors import StoreError, TemplateError, UsageError
from kgdx.graph.neo4j import local_server
from kgdx.graph.templates import PARAMETER, Template, parse, suggestion
from kgdx.lazy import lazy_pattern
from kgdx.resources import resource

_SPECIAL = lazy_pattern(r"['\\]")
_CONTROL = lazy_pattern(r"[\x00-\x1f\x7f\u2028\u2029]")


def browser_template(name: str) -> Template:
    """Return a template of ``cypher/browser``."""
    found = _templates()
    if name not in found:
        raise TemplateError(f"no template {name!r} for Neo4j Browser", hint=suggestion(name, found))
    return found[name]


@cache
def _templates() -> dict[str, Template]:
    return {path.stem: parse(path) for path in sorted(resource("cypher", "browser").glob("*.cypher"))}


def statement(name: str, /, **parameters: Any) -> str:
    """Return a template as the text of a query, its parameters written out."""
    found = browser_template(name)
    bound = found.bind(parameters)
    body = PARAMETER.sub(lambda match: literal(bound[match[1]]), found.text)
    return f"// {found.purpose}\n{body}"


def literal(value: str | int | Iterable[str | int]) -> str:
    r"""Write a value as Cypher.

    Quotes and backslashes stand in texts of their own: some versions of Neo4j read an escape such as ``\u0027`` before
    they look for the end of a text, wherever it stands.

    Example:
        >>> print(literal(["OMIM:1", "it's"]), literal(3))
        ['OMIM:1', 'it' + "'" + 's'] 3
    """
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        return f"[{', '.join(map(literal, value))}]"
    if _CONTROL.search(value):
        raise TemplateError(f"{value[:40]!r} cannot stand in a link", hint="look the node up by its name")
    parts = []
    at = 0
    for special in _SPECIAL.finditer(value):
        parts += [f"'{value[at : special.start()]}'"] if special.start() > at else []
        parts.append('"\'"' if special[0] == "'" else "'\\\\'")
        at = special.end()
    parts += [f"'{value[at:]}'"] if at < len(value) or not parts else []
    return " + ".join(parts)


def link(browser: str, access: Neo4jAccess, query: str = "") -> str:
    """Return the address of Neo4j Browser, connecting to a database as a user, with a query in its editor.

    Browser asks for the password, and keeps the query meanwhile.

    Args:
        browser: Address of the server that Browser comes from, such as ``http://localhost:7474``.
        access: The database; the password is no part of the link.
    """
    parts = urlsplit(access.uri)
    scheme = parts.scheme.replace("bolt", "neo4j")
    user = quote(access.user, safe="")
    database = quote(access.database or "neo4j", safe="")
    address = f"{browser.rstrip('/')}/browser/?dbms={scheme}://{user}@{parts.netloc}&db={database}"
    return f"{address}&cmd=edit&arg={quote(query, safe='')}" if query else address


@dataclass(frozen=True, slots=True)
class Place:
    """Where Neo4j Browser is, and the database that it is to open."""

    browser: str
    access: Neo4jAccess

    def link(self, query: str = "") -> str:
        return link(self.browser, self.access, query)


def place(settings: Settings, neo4j: str | None = None, browser: str | None = None) -> Place:
    """Find where Neo4j Browser is.

    Args:
        settings: Where the local server is, and how databases are opened.
        neo4j: Bolt address; the store, or the local server, when ``None``.
        browser: Address of Browser's server; that of the database, at the usual port, when ``None``.
    """
    access = settings.neo4j(neo4j)
    if browser is not None:
        if urlsplit(browser).scheme not in ("http", "https") or not urlsplit(browser).hostname:
            raise UsageError(f"{browser[:60]!r} is no web address", hint="give one such as http://localhost:7474")
        return Place(browser, access)
    running = local_server.status(settings)
    if running is not None and same_server(running.bolt, access.uri):
        return Place(running.http, access)
    parts = urlsplit(access.uri)
    if "+" in parts.scheme:
        raise UsageError(f"it is not known where the Browser of {access.uri} is", hint="say it with --browser URL")
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return Place(f"http://{host}:{local_server.DEFAULT_HTTP_PORT}", access)


def shell_url(settings: Settings, query: str = "") -> str:
    """Return the address of Neo4j Browser on the local server, with a query in its editor."""
    running = local_server.status(settings)
    if running is None:
        raise StoreError("no local Neo4j runs", hint="start it with `kgdx neo4j up`")
    return link(running.http, Neo4jAccess(running.bolt, running.user, database="neo4j"), query)
