"""Settings as they are written: values, addresses without credentials, and the one config file."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from kgdx.errors import ConfigError
from kgdx.files.private import possible
from kgdx.lazy import lazy_pattern

LONGEST_WAIT_S = 86_400
"""Seconds that an answer may be waited for at most: a day."""


def first(env: Mapping[str, str], *names: str, default: str | None = None) -> str | None:
    return next((env[name] for name in names if name in env), default)


def number(key: str, text: str) -> float:
    """Read a number of the language model's settings."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ConfigError(f"KGDX_LLM_{key.upper()} is {text[:40]!r}", hint="give a number that is not negative")
    if key == "timeout" and value > LONGEST_WAIT_S:
        raise ConfigError(f"KGDX_LLM_TIMEOUT is {text[:40]!r}", hint=f"give at most {LONGEST_WAIT_S:,} seconds")
    return value


def seconds(name: str, text: str | None, default: float, most: float = LONGEST_WAIT_S) -> float:
    """Read how long something may be waited for.

    Example:
        >>> seconds("KGDX_SAVE_WAIT", "5", 30.0), seconds("KGDX_SAVE_WAIT", None, 30.0)
        (5.0, 30.0)
    """
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= most:
        raise ConfigError(f"{name} is {text[:40]!r}", hint=f"give seconds, from 0 to {most:,}")
    return value


def switch(name: str, text: str) -> bool:
    """Read what a variable says that is on or off."""
    said = text.strip().lower()
    if said not in ("1", "true", "yes", "0", "false", "no"):
        raise ConfigError(f"{name} is {text[:40]!r}", hint="give true or false")
    return said in ("1", "true", "yes")


def languages(text: str) -> tuple[str, ...]:
    """Read a list of languages."""
    found = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    wrong = [part for part in found if not (part.isascii() and part.isalpha() and 2 <= len(part) <= 3)]
    if wrong or not found:
        shown = wrong[0] if wrong else text
        raise ConfigError(f"{shown!r} is no language", hint="write codes with commas between them, such as en,zh")
    return found


def path_of(value: str | None) -> Path | None:
    return Path(value).expanduser().absolute() if value else None


def folder_of(value: str | None, name: str) -> Path | None:
    """Return the path of a folder in full; it need not be there."""
    if not value:
        return None
    path = Path(value).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise ConfigError(f"{name} is {path}, which is not a folder")
    return path


NEO4J_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
DEFAULT_BOLT_PORT = 7687

_HOST = lazy_pattern(r"[^\s\x00-\x1f\x7f]+")


def is_neo4j(store: str | Path) -> bool:
    """Tell a Neo4j address from a path.

    Example:
        >>> is_neo4j("bolt://127.0.0.1:7687"), is_neo4j("/data/graph")
        (True, False)
    """
    return isinstance(store, str) and store.partition("://")[0].lower() in NEO4J_SCHEMES and "://" in store


def store_address(value: Any) -> str:
    """Return the store as a clean address or an absolute path."""
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"the store must be a path or a Bolt address, not {value!r}")
    scheme, separator, _ = value.partition("://")
    if not separator:
        return str(possible(value).absolute())
    if scheme.lower() not in NEO4J_SCHEMES:
        schemes = ", ".join(NEO4J_SCHEMES)
        raise ConfigError(f"the store scheme {scheme!r} is unknown", hint=f"give a path, or one of {schemes}")
    parts, host = _parts(value)
    if not host or parts.port == 0:
        raise ConfigError("the Neo4j address has no host or a bad port", hint="for example bolt://127.0.0.1:7687")
    if "@" in parts.netloc:
        raise ConfigError(
            f"the address {scheme}://…@{host} holds credentials",
            hint="leave them out and set KGDX_NEO4J_USER and KGDX_NEO4J_PASSWORD",
        )
    if parts.path.strip("/"):
        hint = "leave it out, and name the database by KGDX_NEO4J_DATABASE"
        raise ConfigError(f"the address {scheme}://{parts.netloc} has a path behind it", hint=hint)
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
    """Return the address of a language model's endpoint, without a slash at its end."""
    parts, host = _parts(url)
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError("KGDX_LLM_BASE_URL is no http address", hint="for example http://127.0.0.1:8000/v1")
    if "@" in parts.netloc:
        raise ConfigError("KGDX_LLM_BASE_URL holds credentials", hint="leave them out and set KGDX_LLM_API_KEY")
    return url.rstrip("/")


def _parts(url: str) -> tuple[SplitResult, str | None]:
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return SplitResult("", "", "", "", ""), None
    return parts, host if host and _HOST.fullmatch(host) else None


def check_private(path: Path, mode: int) -> None:
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError(f"{path} holds a password or key, and others can read it", hint=f"run `chmod 600 {path}`")


def read_secret(path: Path) -> str:
    """Read the local server's password."""
    try:
        with path.open(encoding="utf-8") as stream:
            check_private(path, os.fstat(stream.fileno()).st_mode)
            return stream.read().strip()
    except OSError as error:
        raise ConfigError(
            f"cannot read the local server's password in {path}", hint="run `kgdx neo4j down`, then `kgdx neo4j up`"
        ) from error


def read_yaml(path: Path) -> Any:
    """Return what a YAML file says."""
    import yaml

    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # six times as fast, where it is compiled
        return yaml.load(path.read_text(encoding="utf-8"), loader)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
