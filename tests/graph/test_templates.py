"""Template files, their headers, and what may be bound to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgdx.errors import TemplateError
from kgdx.graph.templates import Template, parse, template, templates

TAKES = Template(
    "t",
    "RETURN 1",
    {"ids": "strings", "limit": "integer", "share": "float?", "strict": "boolean?", "name": "string?", "rows": "rows?"},
    ("n",),
    "read",
    "",
    {"id": "string", "score": "float?"},
)


def write(folder: Path, name: str, text: str, kind: str = "read") -> Path:
    path = folder / kind / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_header_names_purpose_parameters_and_columns(tmp_path: Path) -> None:
    text = (
        "// purpose: Things\n//     in two lines.\n// params: ids: strings,\n//     limit: integer?\n// columns: a, b\n"
        "// row: x: string\nUNWIND $ids AS i // a remark\nRETURN i AS a, $limit AS b\n"
    )
    with pytest.raises(TemplateError, match="row"):
        parse(write(tmp_path, "things.cypher", text))
    found = parse(write(tmp_path, "things.cypher", text.replace("// row: x: string\n", "")))
    assert found.name == "things"
    assert found.purpose == "Things in two lines."
    assert dict(found.parameters) == {"ids": "strings", "limit": "integer?"}
    assert found.columns == ("a", "b")
    assert found.kind == "read"
    assert found.text == "UNWIND $ids AS i // a remark\nRETURN i AS a, $limit AS b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RETURN 1", "needs a purpose"),
        ("// purpose: x\n", "needs a purpose and a text"),
        ("// purpose: x\n// params: a: string\nRETURN 1", "disagrees with its header on a"),
        ("// purpose: x\nRETURN $b", "disagrees with its header on b"),
        ("// purpose: x\n// params: a: text\nRETURN $a", "declares 'a: text'"),
        ("// purpose: x\n// params: rows: rows\nRETURN $rows", "needs a `row:` line"),
    ],
)
def test_a_header_that_disagrees_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        parse(write(tmp_path, "wrong.cypher", text))


@pytest.mark.parametrize(
    ("name", "value", "bound"),
    [
        ("ids", ("a", "b"), ["a", "b"]),
        ("ids", np.array(["a"]), ["a"]),
        ("ids", [], []),
        ("limit", np.int32(3), 3),
        ("share", 1, 1.0),
        ("share", None, None),
        ("strict", True, True),
        ("rows", [{"id": "x"}], [{"id": "x", "score": None}]),
        ("rows", [{"id": "x", "score": 2}], [{"id": "x", "score": 2.0}]),
    ],
)
def test_a_value_of_the_declared_type_is_bound_as_plain_python(name: str, value: Any, bound: object) -> None:
    got = TAKES.bind({"ids": [], "limit": 1, name: value})[name]
    assert got == bound
    assert type(got) is type(bound)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ids", "HP:0001250"),
        ("ids", [1]),
        ("ids", None),
        ("ids", {"a": 1}),
        ("ids", ["\ud800"]),
        ("limit", "1"),
        ("limit", 1.0),
        ("limit", True),
        ("limit", 2**63),
        ("share", float("nan")),
        ("share", "0.5"),
        ("strict", 1),
        ("name", b"x"),
        ("rows", [{"id": "x", "colour": 1}]),
        ("rows", [{"score": 1.0}]),
        ("rows", ["x"]),
        ("rows", {"id": "x"}),
    ],
)
def test_a_value_of_another_type_is_refused(name: str, value: Any) -> None:
    with pytest.raises(TemplateError, match=name) as caught:
        TAKES.bind({"ids": [], "limit": 1, name: value})
    assert "\n" not in str(caught.value)


def test_missing_and_unknown_parameters_are_named() -> None:
    with pytest.raises(TemplateError, match="needs ids, limit"):
        TAKES.bind({})
    with pytest.raises(TemplateError, match="'limt': did you mean limit"):
        TAKES.bind({"ids": [], "limt": 1})


def test_an_unknown_template_suggests_the_nearest() -> None:
    with pytest.raises(TemplateError, match="did you mean infer_diseases"):
        template("infer_disease")
    with pytest.raises(TemplateError, match="is a write template"):
        template("put_case", "read")


@pytest.mark.parametrize("dialect", ["arcade", "neo4j"])
def test_every_template_is_well_formed(dialect: Any) -> None:
    found = templates(dialect)
    assert len(found) > 50
    for name, one in found.items():
        assert one.path.parent.name == one.kind, name
        assert one.columns or one.kind == "write", name
        assert "  " not in one.purpose and one.purpose.endswith("."), name


@pytest.mark.parametrize("name", sorted(templates()))
def test_templates_keep_the_rules_that_make_them_portable(name: str) -> None:
    text = templates()[name].text
    assert "*.." not in text and "*]" not in text, "a variable length needs both bounds"
    assert "RETURN path" not in text and "RETURN *" not in text, "rows are scalars and lists"
    assert "apoc." not in text and "CALL " not in text
    assert "'+" not in text, "parameters are bound, never put together"
