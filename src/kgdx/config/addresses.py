"""Addresses of stores and endpoints: told apart, checked, and never with credentials in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from kgdx.errors import ConfigError

NEO4J_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
DEFAULT_BOLT_PORT = 7687

_HOST = re.compile(r"[^\s\x00-\x1f\x7f]+")


def is_neo4j(store: str | Path) -> bool:
    """Tell a Neo4j address from a path.

    Example:
        >>> is_neo4j("bolt://127.0.0.1:7687"), is_neo4j("/data/graph")
        (True, False)
    """
    return isinstance(store, str) and store.partition("://")[0].lower() in NEO4J_SCHEMES and "://" in store


def store_address(value: Any) -> str:
    """Return the store as a clean address or an absolute path.

    Raises:
        ConfigError: It is neither, or holds credentials.
    """
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"the store must be a path or a Bolt address, not {value!r}")
    scheme, separator, _ = value.partition("://")
    if not separator:
        return str(Path(value).expanduser().absolute())
    if scheme.lower() not in NEO4J_SCHEMES:
        schemes = ", ".join(NEO4J_SCHEMES)
        raise ConfigError(f"the store scheme {scheme!r} is unknown", hint=f"give a path, or one of {schemes}")
    parts, host = _parts(value)
    if not host:
        raise ConfigError("the Neo4j address has no host or a bad port", hint="for example bolt://127.0.0.1:7687")
    if "@" in parts.netloc:
        raise ConfigError(
            f"the address {scheme}://…@{host} holds credentials",
            hint="leave them out and set KGDX_NEO4J_USER and KGDX_NEO4J_PASSWORD",
        )
    return value.rstrip("/")


def same_server(one: str, other: str) -> bool:
    """Whether two addresses lead to the same port of the same host.

    Example:
        >>> same_server("neo4j://localhost", "bolt://127.0.0.1:7687")
        True
    """

    def ends(uri: str) -> tuple[str, int]:
        parts = urlsplit(uri)
        host = (parts.hostname or "").lower()
        return ("127.0.0.1" if host in ("localhost", "::1") else host), parts.port or DEFAULT_BOLT_PORT

    return ends(one) == ends(other)


def endpoint(url: str) -> str:
    """Return the address of a language model's endpoint, without a slash at its end.

    Raises:
        ConfigError: It is no http address, or holds credentials.
    """
    parts, host = _parts(url)
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError("KGDX_LLM_BASE_URL is no http address", hint="for example http://127.0.0.1:8000/v1")
    if "@" in parts.netloc:
        raise ConfigError("KGDX_LLM_BASE_URL holds credentials", hint="leave them out and set KGDX_LLM_API_KEY")
    return url.rstrip("/")


def _parts(url: str) -> tuple[SplitResult, str | None]:
    """The parts of an address, and its host; none where host or port cannot be."""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return SplitResult("", "", "", "", ""), None
    return parts, host if host and _HOST.fullmatch(host) else None
