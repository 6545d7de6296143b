"""Settings as they are written: what is set in several places, numbers, switches, languages and paths."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kgdx.errors import ConfigError

LONGEST_WAIT_S = 86_400
"""Seconds that an answer may be waited for at most: a day."""


def first(env: Mapping[str, str], *names: str, default: str | None = None) -> str | None:
    """Return the first variable that is set, and otherwise the default."""
    return next((env[name] for name in names if name in env), default)


def number(key: str, text: str) -> float:
    """Read a number of the language model's settings.

    Raises:
        ConfigError: It is none, or negative, or a time that is too long.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ConfigError(f"KGDX_LLM_{key.upper()} is {text[:40]!r}", hint="give a number that is not negative")
    if key == "timeout" and value > LONGEST_WAIT_S:
        raise ConfigError(f"KGDX_LLM_TIMEOUT is {text[:40]!r}", hint=f"give at most {LONGEST_WAIT_S:,} seconds")
    return value


def switch(name: str, text: str) -> bool:
    """Read what a variable says that is on or off.

    Raises:
        ConfigError: It is neither true nor false.
    """
    said = text.strip().lower()
    if said not in ("1", "true", "yes", "0", "false", "no"):
        raise ConfigError(f"{name} is {text[:40]!r}", hint="give true or false")
    return said in ("1", "true", "yes")


def languages(text: str) -> tuple[str, ...]:
    """Read a list of languages.

    Raises:
        ConfigError: One of them is none.
    """
    found = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    wrong = [part for part in found if not (part.isascii() and part.isalpha() and 2 <= len(part) <= 3)]
    if wrong or not found:
        shown = wrong[0] if wrong else text
        raise ConfigError(f"{shown!r} is no language", hint="write codes with commas between them, such as en,zh")
    return found


def path_of(value: str | None) -> Path | None:
    """Return a path in full."""
    return Path(value).expanduser().absolute() if value else None


def folder_of(value: str | None, name: str) -> Path | None:
    """Return the path of a folder in full; it need not be there.

    Raises:
        ConfigError: It is a file.
    """
    if not value:
        return None
    path = Path(value).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise ConfigError(f"{name} is {path}, which is not a folder")
    return path
