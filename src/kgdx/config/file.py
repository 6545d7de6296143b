"""The config file: which settings it may hold, and who may read one that holds a secret."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

from kgdx.errors import ConfigError

_KEYS = frozenset({"store", "align", "neo4j", "llm", "judge", "pubmed", "rank"})
_NEO4J_KEYS = frozenset({"user", "password", "database", "home", "mapping"})
LLM_NUMBERS = {"price_in": 0.0, "price_out": 0.0, "timeout": 120.0, "concurrency": 4.0, "attempts": 5.0, "seed": 0.0}
LLM_LIMITS = ("max_calls", "max_tokens", "max_cost", "max_seconds")
LLM_SWITCHES = ("documents", "deidentify")
_LLM_NUMERIC = frozenset({*LLM_NUMBERS, *LLM_LIMITS})
LLM_KEYS = frozenset(
    {"base_url", "model", "api_key", "cassette", "cassette_mode", "device", *LLM_SWITCHES, *_LLM_NUMERIC}
)
JUDGE_KEYS = frozenset({"base_url", "model", "api_key"})
_ALIGN_KEYS = frozenset({"encoder", "languages"})
PUBMED_KEYS = frozenset({"ask", "email", "api_key", "tool", "base_url", "seconds"})
_SECTIONS = {
    "align": _ALIGN_KEYS,
    "neo4j": _NEO4J_KEYS,
    "llm": LLM_KEYS,
    "judge": JUDGE_KEYS,
    "pubmed": PUBMED_KEYS,
    "rank": frozenset({"weights"}),
}
_SECRETS = (("neo4j", "password"), ("llm", "api_key"), ("judge", "api_key"), ("pubmed", "api_key"))
_NUMERIC = frozenset({*(f"llm.{key}" for key in _LLM_NUMERIC), "pubmed.seconds"})
_SWITCHES = frozenset({*(f"llm.{key}" for key in LLM_SWITCHES), "pubmed.ask"})


def read_config(path: Path) -> dict[str, Any]:
    """Read the config file; there need be none.

    Raises:
        ConfigError: It cannot be read, has an unknown setting, or holds a secret that others can read.
    """
    try:
        with path.open("rb") as stream:
            config = tomllib.load(stream)
            mode = os.fstat(stream.fileno()).st_mode
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read {path}: {error}", hint="mend or remove it") from error
    _check_config(path, config)
    if any(secret in config.get(section, {}) for section, secret in _SECRETS):
        _check_private(path, mode)
    return config


def _check_config(path: Path, config: dict[str, Any]) -> None:
    unknown = sorted(config.keys() - _KEYS)
    values = [("store", config.get("store", ""))]
    for name, keys in _SECTIONS.items():
        section = config.get(name, {})
        if not isinstance(section, dict):
            raise ConfigError(f"{name} in {path} must be a section", hint=f"write [{name}] on a line of its own")
        unknown += sorted(f"{name}.{key}" for key in section.keys() - keys)
        values += [(f"{name}.{key}", value) for key, value in section.items()]
    if unknown:
        known = sorted(
            [*(_KEYS - _SECTIONS.keys()), *(f"{name}.{key}" for name, keys in _SECTIONS.items() for key in keys)]
        )
        raise ConfigError(f"unknown setting {unknown[0]!r} in {path}", hint=f"known are {', '.join(known)}")
    for key, value in values:
        number = key in _NUMERIC and isinstance(value, int | float)
        switch = key in _SWITCHES and isinstance(value, bool)
        if not isinstance(value, str) and not number and not switch:
            raise ConfigError(f"{key} in {path} must be a string, not {value!r}")


def _check_private(path: Path, mode: int) -> None:
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError(f"{path} holds a password or key, and others can read it", hint=f"run `chmod 600 {path}`")


def read_secret(path: Path) -> str:
    """Read the local server's password.

    Raises:
        ConfigError: It cannot be read, or others can read it.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            _check_private(path, os.fstat(stream.fileno()).st_mode)
            return stream.read().strip()
    except OSError as error:
        raise ConfigError(
            f"cannot read the local server's password in {path}", hint="run `kgdx neo4j down`, then `kgdx neo4j up`"
        ) from error
