"""Named Cypher templates: a file each under ``cypher/read`` and ``cypher/write``, whose header says what it takes.

Those under ``cypher/browser`` are for people, in Neo4j Browser; see :mod:`kgdx.graph.neo4j.browser_links`.

A template is Cypher with bound parameters, the same text on both stores; ``name.arcade.cypher`` or
``name.neo4j.cypher`` replaces ``name.cypher`` on one of them. Its header is made of ``//`` lines::

    // purpose: Diseases with at least one of the phenotypes.
    // params: phenotypes: strings, limit: integer
    // columns: id, name

A line ``// action: name, other names of NodeClass: what it is for.`` makes it an action of its own
(:mod:`kgdx.actions.headers`). A type ends in ``?`` when the parameter may be null or left out. A parameter of type
``rows`` is a list of maps whose fields the line ``// row: id: string, score: float?`` names.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast, get_args

from kgdx.errors import StoreError, TemplateError
from kgdx.lazy import lazy_pattern
from kgdx.resources import resource
from kgdx.schema.model import Schema

Kind = Literal["read", "write", "browser"]
Dialect = Literal["arcade", "neo4j", "mapped"]
"""What runs a template: the embedded store, Neo4j, or a Neo4j that others built, which has none of our indexes."""

TYPES = ("string", "integer", "float", "boolean", "strings", "integers", "rows")

_KEYS = ("purpose", "action", "params", "columns", "row")
_HEADER = lazy_pattern(r"//\s*(?:(?P<key>purpose|action|params|columns|row):)?\s*(?P<text>.*)")
PARAMETER = lazy_pattern(r"\$([A-Za-z_]\w*)")
"""A parameter in a template's text."""
_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class Template:
    """One read or write in Cypher.

    Attributes:
        parameters: Parameter name → type, one of :data:`TYPES`, with ``?`` where null is allowed.
        columns: Names of the returned columns, in order; empty when nothing is returned.
        kind: ``read`` or ``write``, or ``browser`` for one that is not run by the stores.
        fields: Fields of the maps in a ``rows`` parameter → type.
        action: The action that it is, as its header says it; empty for most.
    """

    name: str
    text: str
    parameters: Mapping[str, str]
    columns: tuple[str, ...]
    kind: Kind
    purpose: str
    fields: Mapping[str, str] = field(default_factory=dict)
    path: Path = Path()
    action: str = ""

    def bind(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Check parameters against the header and return what is sent to the store.

        Example:
            >>> Template("t", "RETURN $ids", {"ids": "strings", "limit": "integer?"}, ("n",), "read", "").bind(
            ...     {"ids": ("HP:0001250",)})
            {'ids': ['HP:0001250'], 'limit': None}
        """
        for name in parameters:
            if name not in self.parameters:
                raise TemplateError(
                    f"template {self.name} has no parameter {name!r}",
                    hint=suggestion(name, self.parameters) or f"it takes {_listing(self.parameters)}",
                )
        missing = [n for n, type_ in self.parameters.items() if n not in parameters and not type_.endswith("?")]
        if missing:
            raise TemplateError(
                f"template {self.name} needs {_listing(missing)}", hint=f"it takes {_listing(self.parameters)}"
            )
        return {n: self._value(n, type_, parameters.get(n)) for n, type_ in self.parameters.items()}

    def _value(self, name: str, type_: str, value: Any) -> Any:
        try:
            if type_.rstrip("?") != "rows" or value is None:
                return _typed(type_, value)
            if isinstance(value, str | Mapping):
                raise TypeError
            return [self._row(name, row) for row in value]
        except (TypeError, ValueError, OverflowError):
            raise TemplateError(
                f"template {self.name}: parameter {name!r} must be {_article(type_)}, not {type(value).__name__}"
            ) from None

    def _row(self, name: str, row: Any) -> dict[str, Any]:
        if not isinstance(row, Mapping):
            raise TypeError
        unknown = [key for key in row if key not in self.fields]
        missing = [key for key, type_ in self.fields.items() if not type_.endswith("?") and row.get(key) is None]
        if unknown or missing:
            what = f"has no field {unknown[0]!r}" if unknown else f"needs the field {missing[0]!r}"
            raise TemplateError(f"template {self.name}: a row of {name!r} {what}", hint=_listing(self.fields))
        return {key: _typed(type_, row.get(key)) for key, type_ in self.fields.items()}


@cache
def templates(dialect: Dialect = "arcade") -> Mapping[str, Template]:
    """All templates by name, as one of the stores runs them."""
    folder = resource("cypher")
    shared, variants = {}, {}
    for path in sorted(path for kind in _METHOD for path in folder.glob(f"{kind}/*.cypher")):
        parts = path.name.split(".")
        if len(parts) == 2:
            shared[parts[0]] = parse(path)
        elif parts[1] == dialect:
            variants[parts[0]] = parse(path)
    return MappingProxyType(shared | variants)


def template(name: str, kind: Kind | None = None, dialect: Dialect = "arcade") -> Template:
    """Return one template.

    Example:
        >>> template("disease_by_ids")
        Traceback (most recent call last):
            ...
        kgdx.errors.TemplateError: no template 'disease_by_ids': did you mean diseases_by_ids?
    """
    found = templates(dialect)
    if name not in found:
        raise TemplateError(f"no template {name!r}", hint=suggestion(name, found) or "`kgdx templates` lists them")
    if kind and found[name].kind != kind:
        raise TemplateError(
            f"{name} is a {found[name].kind} template", hint=f"run it with .{_METHOD[found[name].kind]}()"
        )
    return found[name]


def parse(path: Path) -> Template:
    name, kind = path.name.split(".")[0], path.parent.name
    header, body = _split(path.read_text(encoding="utf-8"))

    def wrong(what: str) -> TemplateError:
        return TemplateError(f"template file {kind}/{path.name} {what}", hint="see the head of kgdx/graph/templates.py")

    if kind not in get_args(Kind):
        raise wrong("is not in cypher/read, cypher/write or cypher/browser")
    if not header["purpose"] or not body:
        raise wrong("needs a purpose and a text")
    try:
        parameters, fields = _declared(header["params"]), _declared(header["row"])
    except ValueError as error:
        raise wrong(f"declares {error}") from None
    used = set(PARAMETER.findall(body))
    if used != set(parameters):
        raise wrong(f"disagrees with its header on {_listing(used ^ set(parameters))}")
    if ("rows" in {t.rstrip("?") for t in parameters.values()}) != bool(fields):
        raise wrong("needs a `row:` line exactly when a parameter is of type rows")
    columns = tuple(c.strip() for c in header["columns"].split(",") if c.strip())
    return Template(
        name,
        body,
        MappingProxyType(parameters),
        columns,
        cast(Kind, kind),
        header["purpose"],
        MappingProxyType(fields),
        path,
        header["action"],
    )


def suggestion(name: str, known: Mapping[str, Any]) -> str:
    """``did you mean …?`` for the nearest known name; empty when none is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]}?" if near else ""


_METHOD: dict[str, str] = {"read": "run", "write": "write"}


def _split(text: str) -> tuple[dict[str, str], str]:
    """The header's entries and the Cypher below it; a line without a key continues the one above."""
    header = dict.fromkeys(_KEYS, "")
    lines = text.splitlines()
    key = "purpose"
    count = 0
    for line in lines:
        match = _HEADER.fullmatch(line)
        if match is None:
            break
        count += 1
        key = match["key"] or key
        header[key] = f"{header[key]} {match['text'].strip()}".strip()
    return header, "\n".join(lines[count:]).strip()


def _declared(text: str) -> dict[str, str]:
    out = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, _, type_ = (p.strip() for p in part.partition(":"))
        if not name.isidentifier() or type_.rstrip("?") not in TYPES:
            raise ValueError(f"{part!r}, which is not `name: type`")
        out[name] = type_
    return out


def _typed(type_: str, value: Any) -> Any:
    if value is None:
        if type_.endswith("?"):
            return None
        raise TypeError
    match type_.rstrip("?"):
        case "string":
            return _text(value)
        case "integer":
            if isinstance(value, bool) or not isinstance(value, Integral) or not -_INT64 <= int(value) < _INT64:
                raise TypeError
            return int(value)
        case "float":
            if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
                raise TypeError
            return float(value)
        case "boolean":
            if not isinstance(value, bool):
                raise TypeError
            return value
        case kind:
            if isinstance(value, str | Mapping):
                raise TypeError
            return [_text(v) if kind == "strings" else _typed("integer", v) for v in value]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    value.encode("utf-8")  # a lone surrogate cannot be stored; UnicodeEncodeError is a ValueError
    return str(value)


def _listing(names: Any) -> str:
    return ", ".join(sorted(names) if isinstance(names, set) else names) or "nothing"


def _article(type_: str) -> str:
    kind = type_.rstrip("?")
    odd = {"integer": "an integer", "float": "a finite number", "boolean": "true or false", "rows": "a list of maps"}
    return odd.get(kind, f"a list of {kind}" if kind.endswith("s") else f"a {kind}")


_PLACEHOLDER = lazy_pattern(r"<(\w+)>")


def statement(name: str, schema: Schema | None = None, /, **names: str) -> str:
    """Return a statement's text with the placeholders filled in.

    Args:
        schema: The ontology whose names are allowed; needed when there are placeholders.
        names: Placeholder → a class or relation type of the ontology, or several with ``|`` between them; for
            ``property`` one of their properties.

    Example:
        >>> statement("empty")
        'RETURN NOT EXISTS { MATCH (n) } AS empty'
    """
    for placeholder, value in names.items():
        known = set() if schema is None else _known(schema, placeholder)
        if not all(part in known and part.isidentifier() for part in value.split("|")):
            kind = "property" if placeholder == "property" else "class or relation"
            raise StoreError(f"the ontology has no {kind} {value!r}", hint="`kgdx schema` shows what it has")
    try:
        return _PLACEHOLDER.sub(lambda match: names[match[1]], text_of(name))
    except KeyError as error:
        raise TemplateError(f"the statement {name} needs a name for {error.args[0]}") from None


def _known(schema: Schema, placeholder: str) -> set[str]:
    if placeholder != "property":
        return {*schema.nodes, *schema.relations}
    described = [each.properties for each in schema.nodes.values()]
    described += [each.properties for each in schema.relations.values()]
    return {name for properties in described for name in properties}


@cache
def text_of(name: str) -> str:
    lines = resource("cypher", "neo4j", f"{name}.cypher").read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("//")).strip()
