"""Which sources a build takes, and from where; licences that a user has accepted."""

from __future__ import annotations

import datetime
import fnmatch
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kgdx.config import Settings
from kgdx.errors import ConfigError, SourceError, UsageError, refusing
from kgdx.files.known import write_whole
from kgdx.files.private import possible
from kgdx.ingest.manifest import Manifest, is_manifest, manifest, manifests, read_manifest, with_needs
from kgdx.ingest.unpack import PACKED

FILE = "licences.json"


def accepted(home: Path) -> Mapping[str, Mapping[str, str]]:
    """Return what was accepted: source → ``licence``, ``homepage`` and ``date``."""
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
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    entry = {"licence": manifest.licence, "homepage": manifest.homepage, "date": now}
    content = {**accepted(home), manifest.name: entry}
    with refusing(ConfigError, f"{home / FILE} cannot be written"):
        home.mkdir(parents=True, exist_ok=True)
        write_whole(home / FILE, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def require(manifest: Manifest, origin: str, home: Path) -> None:
    """Refuse to fetch a source whose licence must be accepted and was not, or was in another wording."""
    local = not origin.lower().startswith(("http://", "https://"))
    if not manifest.accept or (local and manifest.accept != "always"):
        return
    given = accepted(home).get(manifest.name)
    if given is None or given.get("licence") != manifest.licence:
        again = "" if given is None else " has changed since you accepted it and"
        message = f"the licence of {manifest.title} ({manifest.licence}){again} must be accepted before it is used"
        hint = f"read it, then `kgdx sources accept {manifest.name}` or give --accept-licence {manifest.name}"
        raise SourceError(message, hint=hint)


_ELSEWHERE = re.compile(r"[a-z][a-z+]*://|[A-Za-z][\w.-]+:[\w./-]+$")


@dataclass(frozen=True, slots=True)
class ChosenSource:
    manifest: Manifest
    origin: str


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """Files found in a folder: the file of each source; files that stand beside another; files of no source."""

    files: Mapping[str, Path] = field(default_factory=dict)
    companions: tuple[Path, ...] = ()
    unknown: tuple[Path, ...] = ()


def companions(manifest: Manifest, path: Path) -> tuple[Path, ...]:
    """Return the files that have to stand beside a source's file, compressed or not."""
    found = []
    for pattern, names in manifest.companions.items():
        if _fits(path.name, pattern):
            for name in names:
                beside = [path.with_name(name + suffix) for suffix in ("", *PACKED)]
                there = next((each for each in beside if each.exists()), None)
                if there is None:
                    message = f"{path} needs the file {name} beside it"
                    raise SourceError(message, hint=f"put {name} into {path.absolute().parent}")
                found.append(there)
    return tuple(found)


def _fits(name: str, pattern: str) -> bool:
    plain, wanted = name.lower(), pattern.lower()
    packed = next((suffix for suffix in PACKED if plain.endswith(suffix) and not wanted.endswith(suffix)), "")
    return fnmatch.fnmatchcase(plain.removesuffix(packed), wanted)


@dataclass(frozen=True, slots=True)
class Selection:
    sources: Mapping[str, str | None]
    found: FolderFiles = FolderFiles()
    without: tuple[str, ...] = ()


def parse_choice(sources: Iterable[str]) -> dict[str, str | None]:
    """Read sources as a command line gives them: ``name``, or ``name=path-or-URL``."""
    choice: dict[str, str | None] = {}
    for item in sources:
        name, equals, origin = item.partition("=")
        if name in choice:
            raise UsageError(f"the source {name} is given twice", hint="give each source once")
        if equals and not origin:
            raise UsageError(f"no file is given after {item!r}", hint=f"write {name}=PATH")
        choice[name] = origin or None
    return choice


def choose(
    sources: Iterable[str] | Mapping[str, str | None] | None,
    *,
    more: Sequence[Path] = (),
    home: Path | None = None,
) -> dict[str, ChosenSource]:
    """Choose what a build takes, in the order in which it is loaded."""
    home = home or Settings.load().home
    names, files = _by_path(sources if isinstance(sources, Mapping) else parse_choice(sources or ()))
    given = {name_of(path) for path in files}
    known = manifests([*(path for path in more if name_of(path) not in given), *files])
    if sources is None:
        names = {name: None for name, found in known.items() if found.standard and found.shipped}
    for name in names:
        if name not in known:
            manifest(name, [*more, *files])  # raises, with the names that there are
    taken = {needed for name in names for needed in with_needs(name, known)}
    wanted = {
        name: ChosenSource(found, origin_of(found, names.get(name))) for name, found in known.items() if name in taken
    }
    for each in wanted.values():
        require(each.manifest, each.origin, home)
    return wanted


def select(sources: Iterable[str], *, everything: bool = False, place: Path | None = None) -> Selection:
    named, paths = _by_path(parse_choice(sources))
    known = manifests(paths)
    if place is not None and not place.is_dir():
        return Selection(_back({**named, **_for_one(named, place)}, paths))
    found = FolderFiles() if place is None else in_folder(place, known)
    if place is not None and len(named) == 1 and not everything:
        (only,) = named
        if only in known and known[only].default is None and only not in found.files:
            found = replace(found, files={**found.files, only: place})  # some sources are folders
    if everything:
        wanted = {name: None for name, each in known.items() if each.default is not None} | dict.fromkeys(found.files)
    else:
        bare = [name for name, origin in named.items() if origin is None]
        needed = {each for name in bare if name in known for each in with_needs(name, known)}
        wanted = dict.fromkeys(found.files.keys() & needed if bare else found.files)
        if place is not None and not wanted:
            hint = "`kgdx sources` says under which names sources are published; or give NAME=FILE"
            raise SourceError(f"{place} holds no file of {'these sources' if bare else 'any source'}", hint=hint)
        if place is not None and not bare:
            wanted |= {name: None for name, each in known.items() if each.standard}
    chosen = {name: str(found.files[name]) if name in found.files else None for name in (*wanted, *named)}
    chosen |= {name: origin for name, origin in named.items() if origin is not None}
    without = tuple(name for name in known if name not in chosen) if everything else ()
    return Selection(_back(chosen, paths), found, without)


def _for_one(named: Mapping[str, str | None], place: Path) -> dict[str, str]:
    if not place.exists():
        raise SourceError(f"there is nothing at {place}", hint="check the path")
    if len(named) != 1:
        message = f"{place} is one file, and {len(named) or 'no'} sources are named"
        raise UsageError(message, hint="name the source that it is of, or give a folder")
    return dict.fromkeys(named, str(place))


def _back(chosen: Mapping[str, str | None], paths: Sequence[Path]) -> dict[str, str | None]:
    by_name = {name_of(path): str(path) for path in paths}
    return {by_name.get(name, name): origin for name, origin in chosen.items()}


def in_folder(folder: Path, known: Mapping[str, Manifest]) -> FolderFiles:
    """Find the sources' files in a folder and the folders below it, by the names under which they are published.

    A pattern also fits a file's compressed form, and a file may belong to several sources.
    """
    if not folder.is_dir():
        raise SourceError(f"no such folder: {folder}", hint="check the path")
    every = sorted(_files(folder))
    files: dict[str, Path] = {}
    for name, found in known.items():
        of_it = [path for path in every if any(_fits(path.name, pattern) for pattern in found.files)]
        if len(of_it) > 1:
            shown = ", ".join(str(path.relative_to(folder)) for path in of_it)
            hint = f"keep one of them there, or give it as {name}={of_it[0]}"
            raise SourceError(f"{len(of_it)} files in {folder} are of the source {name} ({shown})", hint=hint)
        if of_it:
            files[name] = of_it[0]
    beside = {each for name, path in files.items() for each in companions(known[name], path)}
    left = [path for path in every if path not in beside and path not in files.values()]
    return FolderFiles(files, tuple(sorted(beside)), tuple(left))


def _by_path(names: Mapping[str, str | None]) -> tuple[dict[str, str | None], list[Path]]:
    named: dict[str, str | None] = {}
    files = []
    for word, origin in names.items():
        if is_manifest(word):
            files.append(Path(word).expanduser())
        name = name_of(word)
        if name in named:
            raise UsageError(f"the source {name} is given twice", hint="give each source once")
        named[name] = origin
    return named, files


def name_of(word: str | Path) -> str:
    path = Path(word).expanduser()
    return read_manifest(path, named=False).name if is_manifest(str(path)) else str(word)


def origin_of(found: Manifest, given: str | None = None) -> str:
    """Return where a source is read from: what is given, or its manifest's default; a local path as absolute."""
    if given is not None:
        return given if _ELSEWHERE.match(given) and not Path(given).exists() else str(possible(given).absolute())
    if found.default is None:
        hint = f"give it as {found.name}=PATH-OR-URL"
        raise SourceError(f"{found.name} ({found.title}) needs a file of yours", hint=hint)
    if _ELSEWHERE.match(found.default) or found.path is None:
        return found.default
    return str((found.path.parent / Path(found.default).expanduser()).absolute())


def _files(folder: Path) -> Iterable[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(parent) / name for name in names if not name.startswith("."))
