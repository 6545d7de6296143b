"""The reference of results: their fields in words, from the docstrings of their classes.

``python -m kgdx.results.reference docs/reference/results.md`` writes the documentation's page of results; a test keeps
it up to date. The server's OpenAPI description says the same.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic.json_schema import models_json_schema

from kgdx.lazy import lazy_pattern
from kgdx.results.cited import AnswerDocument
from kgdx.results.ranked import DiagnosisDocument

_SECTION = lazy_pattern(r"\n\s*(Attributes|Example|Raises|Args):\n")
_ATTRIBUTE = lazy_pattern(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)


def documented(schemas: dict[str, Any]) -> None:
    r"""Move what docstrings say of fields to the fields, in place.

    Example:
        >>> schemas = {"X": {"description": "It.\n\nAttributes:\n    id: Its name.", "properties": {"id": {}}}}
        >>> documented(schemas)
        >>> schemas["X"]["description"], schemas["X"]["properties"]["id"]["description"]
        ('It.', 'Its name.')
    """
    for schema in schemas.values():
        summary, *sections = _SECTION.split(schema.get("description", ""))
        if sections:
            schema["description"] = summary.strip()
        properties = schema.get("properties", {})
        said = dict(zip(sections[::2], sections[1::2], strict=True)).get("Attributes")
        if said is None and "schema" not in properties:
            continue
        for name, words in _ATTRIBUTE.findall(said or ""):
            if name in properties:
                properties[name]["description"] = " ".join(words.replace("``", "`").split())
        schema["additionalProperties"] = True
        if "schema" in properties:
            schema["required"] = ["schema", "notice", *schema.get("required", ())]


def schemas() -> dict[str, Any]:
    """Return the JSON schemas of both documents and of what they hold, by name.

    Example:
        >>> schemas()["Candidate"]["properties"]["rank"]["description"]
        'Rank by disease; 1 is best; equal scores are ordered by id.'
    """
    _, found = models_json_schema(
        [(DiagnosisDocument, "serialization"), (AnswerDocument, "serialization")], ref_template="#/$defs/{model}"
    )
    documented(found["$defs"])
    parts: dict[str, Any] = found["$defs"]
    return parts


def markdown() -> str:
    """Return the documentation's page of results."""
    found = schemas()
    first = ["DiagnosisDocument", "AnswerDocument"]
    lines = [
        "# Results",
        "",
        "<!-- Made from kgdx.results by `python -m kgdx.results.reference`; edit the docstrings there. -->",
        "",
        "`to_dict()` and `to_json()` of a diagnosis or an answer, `--json` on the command line, and the server give "
        "these documents; `kgdx report` makes pages of them. A field that has its default is not written: nothing "
        "(null, an empty list or text, 0) where no other default is named. What each finding adds is written of the "
        "candidates that were explained; the others name what raises them in `support`. Within a version of a form "
        "(`kgdx.diagnosis/3`, `kgdx.answer/3`) fields are only ever added; what was different before stands in "
        "[Upgrade](../how-to/upgrade.md#results). A patient's text is no part of them; the words that findings were "
        "read from are. Of what was not read (`unread`), only `kgdx diagnose --json` gives the words.",
        "",
    ]
    for name in [*first, *sorted(found.keys() - {*first})]:
        if "properties" in found[name]:
            lines += _section(name, found[name])
    return "\n".join(lines).rstrip() + "\n"


def _section(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"## {name} {{ #{name.lower()} }}", "", " ".join(schema["description"].split()), "")
    yield from ("| field | type | meaning |", "| --- | --- | --- |")
    for field, form in schema["properties"].items():
        default = form.get("default")
        named = f" Default: `{json.dumps(default)}`." if default and field not in ("schema", "notice") else ""
        yield f"| `{field}` | {_type(form)} | {form.get('description', '')}{named} |"
    yield ""


def _type(form: Mapping[str, Any]) -> str:
    if "$ref" in form:
        name = form["$ref"].rpartition("/")[2]
        return "text" if name == "Status" else f"[{name}](#{name.lower()})"
    if "anyOf" in form:
        return " or ".join(map(_type, form["anyOf"]))
    if "const" in form:
        return f"`{form['const']}`"
    kind = form.get("type")
    if kind == "array":
        return f"list of {_type(form.get('items', {}))}"
    if kind == "object":
        inner = form.get("additionalProperties")
        return f"object of {_type(inner)}" if isinstance(inner, Mapping) else "object"
    return {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false"}.get(
        str(kind), "null" if kind == "null" else "any"
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(markdown(), encoding="utf-8")
