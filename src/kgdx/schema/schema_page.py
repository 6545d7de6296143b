"""The schema in words: the documentation's schema page.

``python -m kgdx.schema.schema_page docs/reference/schema.md`` writes the page; a test keeps it up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from kgdx.schema import load_schema
from kgdx.schema.model import Schema

_TYPES = {
    "string": "text",
    "integer": "integer",
    "float": "number",
    "boolean": "true or false",
    "strings": "list of texts",
    "floats": "list of numbers",
}


def markdown(schema: Schema) -> str:
    template = Path(__file__).with_suffix(".md.jinja").read_text("utf-8")
    page = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True).from_string(template)
    return page.render(schema=schema, types=_TYPES).strip() + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(markdown(load_schema()), encoding="utf-8")
