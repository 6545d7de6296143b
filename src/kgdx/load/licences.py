"""Licences that a user has accepted, kept beside the configuration with the date and the terms as they were then."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Mapping
from pathlib import Path

from kgdx.errors import ConfigError, SourceError
from kgdx.load.manifest import Manifest

FILE = "licences.json"


def accepted(home: Path) -> Mapping[str, Mapping[str, str]]:
    """Return what was accepted: source → ``licence``, ``homepage`` and ``date``.

    Raises:
        ConfigError: The record of it is damaged.

    Example:
        >>> accepted(Path("/nowhere"))
        {}
    """
    try:
        content = json.loads((home / FILE).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{home / FILE} cannot be read ({error})", hint="mend or remove it") from error
    if not isinstance(content, dict) or not all(isinstance(each, dict) for each in content.values()):
        raise ConfigError(f"{home / FILE} is no list of licences", hint="remove it, and accept them again")
    return content


def accept(manifest: Manifest, home: Path) -> None:
    """Remember that the user accepts a source's licence.

    Raises:
        ConfigError: It cannot be written.
    """
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    entry = {"licence": manifest.licence, "homepage": manifest.homepage, "date": now}
    content = {**accepted(home), manifest.name: entry}
    beside = home / f".{FILE}.{os.getpid()}"
    try:
        home.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
        os.replace(beside, home / FILE)
    except OSError as error:
        raise ConfigError(f"{home / FILE} cannot be written ({error.strerror or error})") from error


def require(manifest: Manifest, origin: str, home: Path) -> None:
    """Refuse to fetch a source whose licence must be accepted and was not, or was in another wording.

    Args:
        manifest: The source.
        origin: Where it is to be read from; a local file needs no acceptance unless the manifest says so.
        home: The folder of the configuration.

    Raises:
        SourceError: It was not accepted.
    """
    local = not origin.lower().startswith(("http://", "https://"))
    if not manifest.accept or (local and manifest.accept != "always"):
        return
    given = accepted(home).get(manifest.name)
    if given is None or given.get("licence") != manifest.licence:
        again = "" if given is None else " has changed since you accepted it and"
        raise SourceError(
            f"the licence of {manifest.title} ({manifest.licence}){again} must be accepted before it is used",
            hint=f"read it, then `kgdx sources accept {manifest.name}` or give --accept-licence {manifest.name}",
        )
