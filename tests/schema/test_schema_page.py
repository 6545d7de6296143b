"""The schema in words follows the ontology."""

from __future__ import annotations

from pathlib import Path

from kgdx.schema import load_schema
from kgdx.schema.schema_page import markdown


def test_the_schema_page_of_the_documentation_is_up_to_date(root: Path) -> None:
    page = root / "docs" / "reference" / "schema.md"
    assert page.read_text(encoding="utf-8") == markdown(load_schema()), (
        "run `python -m kgdx.schema.schema_page docs/reference/schema.md`"
    )


def test_the_page_has_a_section_for_every_class_and_relation() -> None:
    page = markdown(load_schema())
    for name in (*load_schema().nodes, *load_schema().relations):
        assert page.count(f"\n### {name} {{") == 1
