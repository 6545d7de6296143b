"""`loaders/<source>.yaml`: where a source comes from, under which terms, and how its columns map to the ontology."""

from __future__ import annotations

import difflib
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from kgdx.config import Settings
from kgdx.errors import SourceError
from kgdx.registry import Registry
from kgdx.resources import resource


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def _shorthand(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return {"template": value} if "{" in value else {"column": value}


class Value(_Model):
    """How a property's value is made from a row: a column, a template of columns, or a constant; then changed.

    In YAML a plain word is a column, and text with braces is a template. The changes are made in the order in which
    they stand here; of a list, to each of its members.

    Attributes:
        column: Take this column.
        template: Fill in columns: ``NCBIGene:{ncbi_gene_id}``; absent when one of them is.
        constant: The same for every row.
        separator: Split into a list.
        case: Write it in lower or upper case.
        pattern: Regular expression of which the first group (or the whole match) is kept; absent where it does not
            match.
        pad: Fill up with zeros on the left to this length.
        prefix: Put this in front.
        values: Translate; a value that is not listed is quarantined.
        mint: Node class of which an id is made from these words, for what the source knows by its name only.
        otherwise: Template of what stands where all this gives nothing.
    """

    column: str | None = None
    template: str | None = None
    constant: str | float | bool | None = None
    separator: str | None = Field(default=None, min_length=1)
    case: Literal["lower", "upper"] | None = None
    pattern: str | None = None
    pad: int | None = Field(default=None, ge=1, le=64)
    prefix: str | None = None
    values: dict[str, str] | None = None
    mint: str | None = None
    otherwise: str | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> Value:
        if sum(origin is not None for origin in (self.column, self.template, self.constant)) != 1:
            raise ValueError("give exactly one of column, template, constant")
        return self

    @field_validator("pattern")
    @classmethod
    def _regular(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise ValueError(f"{pattern!r} is no regular expression ({error})") from None
        return pattern

    @property
    def columns(self) -> tuple[str, ...]:
        parts = string.Formatter().parse((self.template or "") + (self.otherwise or ""))
        named = tuple(name for _, name, _, _ in parts if name)
        return named if self.column is None else (self.column, *named)


Expression = Annotated[Value, BeforeValidator(_shorthand)]


class Each(_Model):
    column: str
    separator: str | None = Field(default=None, min_length=1)


Members = Annotated[Each, BeforeValidator(lambda value: {"column": value} if isinstance(value, str) else value)]


class _Map(_Model):
    """Fields that mappings of nodes and of relations share.

    Attributes:
        frame: The frame whose rows are mapped.
        where: Take only rows with one of these values (``null``: absent) in a column. A row that no record mapping of
            its frame takes is quarantined.
        each: A column with a list, or with text to split: the row counts once for each member, which then stands in
            the column; a row without any is no record.
    """

    frame: str = "rows"
    where: dict[str, tuple[str | None, ...]] = {}
    each: Members | None = None


class NodeMap(_Map):
    """Rows of a frame → nodes of a class.

    ``role`` says what a row is: a ``record`` that is counted; ``implied``, a node that records mention; or a
    ``patch``, a record that adds properties to a node that another source brought.
    """

    class_: str = Field(alias="class")
    role: Literal["record", "implied", "patch"] = "record"
    id: Expression
    properties: dict[str, Expression] = {}


class End(_Model):
    class_: str = Field(alias="class")
    id: Expression


class RelationMap(_Map):
    """Rows of a frame → relations of a type.

    ``role`` says what a row is: a ``record`` that is counted, and quarantined where an end is not in the graph; or
    ``implied``, a reference that a record makes beside what it states itself, which is left out in that case: a
    cross-reference to a vocabulary that was not loaded is no error.
    """

    type: str
    role: Literal["record", "implied"] = "record"
    start: End
    end: End
    properties: dict[str, Expression] = {}


class ExpectedCounts(_Model):
    """Ranges (least, most) that the default file's counts fall into; outside them the build report warns."""

    records: tuple[int, int]
    quarantined: tuple[int, int] = (0, 0)


class Manifest(_Model):
    """One source. See :func:`manifest` and the files in ``loaders/``.

    Attributes:
        name: The word used on the command line and in every node's and relation's ``source``.
        default: Where it is read from when nothing else is given: ``package:file``, a path or the publisher's URL;
            null when the user has to name a file.
        files: Names under which it is published, as patterns (``kg.csv``, ``desc20??.xml*``), by which it is found in
            a folder.
        companions: Files that must stand beside one of them: ``{edges.csv: [nodes.csv]}``.
        accept: Whether its licence must be accepted before it is downloaded; ``always``: before a local file is read
            too.
        standard: Whether a build without arguments includes it.
        worth: What a graph without it lacks, in one line that `kgdx status` shows; empty where few need it.
        needs: Sources whose nodes it refers to; a build adds them.
        checksum: SHA-256 of the default file; the build report warns of another one.
        version: Regular expression with one group, searched in the first lines.
        format: Reader in ``kgdx.ingest.sources``.
        also: Other accepted formats by file suffix.
        encoding: Of a text file.
        delimiter: Between the columns of a ``csv`` file; found out when not given.
        columns: Columns that a table must have.
        only: Values that a column must have, other rows being quarantined.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    title: str
    homepage: str
    licence: str
    citation: str
    default: str | None
    files: tuple[str, ...] = ()
    companions: dict[str, tuple[str, ...]] = {}
    accept: bool | Literal["always"] = False
    standard: bool = False
    worth: str = ""
    needs: tuple[str, ...] = ()
    checksum: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    version: str | None = None
    format: str
    also: dict[str, str] = {}
    encoding: Literal["utf-8", "utf-16", "gb18030"] = "utf-8"
    delimiter: str | None = Field(default=None, min_length=1, max_length=1)
    columns: tuple[str, ...] = ()
    only: dict[str, tuple[str, ...]] = {}
    expected: ExpectedCounts | None = None
    nodes: tuple[NodeMap, ...] = ()
    relations: tuple[RelationMap, ...] = ()
    _path: Path | None = PrivateAttr(default=None)

    @property
    def path(self) -> Path | None:
        return self._path

    @property
    def shipped(self) -> bool:
        return self._path is None or self._path.parent == resource("loaders")


class Source:
    """A source of another package, named in its entry points of the group ``kgdx.sources``."""

    manifest: ClassVar[Path]
    """The manifest's file."""
    read: ClassVar[Any] = None
    """A static method that reads a file as the manifest says (:data:`kgdx.ingest.sources.Reader`), where the manifest's
    format is the entry point's name; ``None`` where kgdx has a reader of the format."""


SOURCES: Registry[Source] = Registry("source", "kgdx.sources", {})
"""Name → source of an installed package; those that ship with kgdx are manifests in the folder ``loaders``."""


def is_manifest(word: str) -> bool:
    return Path(word).suffix.lower() in (".yaml", ".yml")


def read_manifest(path: Path, *, named: bool = True) -> Manifest:
    try:
        text = path.read_text("utf-8")
        content = yaml.safe_load(text)
    except FileNotFoundError:
        raise SourceError(f"no such manifest: {path}", hint="make one with `kgdx sources new NAME FILE`") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise SourceError(f"the manifest {path} cannot be read ({reason})", hint="mend the file") from error
    if not isinstance(content, dict):
        raise SourceError(f"the manifest {path} is not a mapping", hint="see the manifests that ship with kgdx")
    if content.get("relations", ()) is None:  # nothing but comments
        del content["relations"]
    try:
        found = Manifest.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "manifest"
        line = line_of(text, first["loc"])
        raise SourceError(f"the manifest {path} is wrong at {where} (line {line})", hint=_advice(first)) from error
    if named and found.name != path.stem:
        raise SourceError(f"the manifest {path} names its source {found.name!r}", hint="name it like its file")
    found._path = path.absolute()
    return found


def _advice(error: Any) -> str:
    if error["type"] != "extra_forbidden":
        return str(error["msg"])
    parts = [part for part in error["loc"] if isinstance(part, str)]
    model = _PLACES.get(parts[-2], Value) if len(parts) > 1 else Manifest
    known = [field.alias or name for name, field in model.model_fields.items()]
    return f"no such field; one of {', '.join(known)}{did_you_mean(parts[-1], known)}"


_PLACES: Mapping[str, type[BaseModel]] = {
    "nodes": NodeMap,
    "relations": RelationMap,
    "start": End,
    "end": End,
    "expected": ExpectedCounts,
    "each": Each,
}


def manifests(more: Sequence[Path] = ()) -> Mapping[str, Manifest]:
    """Return the manifests by name: first those of the default build, each after what it needs.

    They are those that ship with kgdx, those of installed packages, and the user's own: in the folder ``loaders``
    beside the configuration, and ``more``, which win over that folder. None may have the name of one that ships.
    """
    own = [*(Path(kind.manifest) for kind in SOURCES.values()), *sorted(own_folder().glob("*.y*ml")), *more]
    return _catalogue(tuple((path.absolute(), path.stat().st_mtime_ns if path.exists() else 0) for path in own))


def own_folder() -> Path:
    return Settings.load().home / "loaders"


@lru_cache(maxsize=8)
def _catalogue(own: tuple[tuple[Path, int], ...]) -> Mapping[str, Manifest]:
    found = dict(_shipped())
    for path, _ in own:
        mine = read_manifest(path, named=False)
        if mine.name in _shipped():
            message = f"the manifest {path} is called {mine.name!r}, like a source that ships with kgdx"
            raise SourceError(message, hint="give it another name")
        found[mine.name] = mine
    ordered: dict[str, Manifest] = {}
    for name in sorted(found, key=lambda name: (not found[name].standard, name)):
        for needed in with_needs(name, found):
            ordered.setdefault(needed, found[needed])
    return ordered


@lru_cache(maxsize=1)
def _shipped() -> Mapping[str, Manifest]:
    return {path.stem: read_manifest(path) for path in sorted(resource("loaders").glob("*.yaml"))}


def manifest(name: str, more: Sequence[Path] = ()) -> Manifest:
    known = manifests(more)
    if name not in known:
        meant = did_you_mean(name, known).strip(" ()")
        hint = f"{meant} `kgdx sources` lists all" if meant else f"one of {', '.join(known)}"
        raise SourceError(f"no source is called {name!r}", hint=hint)
    return known[name]


def with_needs(name: str, found: Mapping[str, Manifest], path: tuple[str, ...] = ()) -> Iterator[str]:
    """Go through what a source needs, and what that needs, then the source itself."""
    if name not in found:
        raise SourceError(f"the manifest of {path[-1]} needs {name!r}, which does not exist", hint="correct `needs`")
    if name in path:
        raise SourceError(f"manifests need each other: {' → '.join((*path, name))}", hint="correct `needs`")
    for needed in found[name].needs:
        yield from with_needs(needed, found, (*path, name))
    yield name


def did_you_mean(word: str, known: Iterable[str]) -> str:
    like = difflib.get_close_matches(word, list(known), 1)
    return f" (did you mean {like[0]}?)" if like else ""


def line_of(text: str, place: Sequence[str | int]) -> int:
    r"""Return the line of a YAML text on which something stands, or would have to."""
    node: Any = yaml.compose(text, yaml.SafeLoader)
    line = 0
    for part in place:
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line
        elif isinstance(node, yaml.MappingNode):
            entry = next((pair for pair in node.value if pair[0].value == part), None)
            if entry is None:
                break
            line, node = entry[0].start_mark.line, entry[1]
    return line + 1
