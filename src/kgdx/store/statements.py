"""Statements that stores run by themselves (``cypher/neo4j``): keys, bulk load, export; nearly all are Neo4j's alone.

Cypher takes no parameter for a label or a type, so these files have ``<placeholders>``; only names that the ontology
defines are filled in. All values are bound as parameters.
"""

from __future__ import annotations

import re
from functools import cache

from kgdx.errors import StoreError, TemplateError
from kgdx.resources import resource
from kgdx.schema.model import Schema

_PLACEHOLDER = re.compile(r"<(\w+)>")


def statement(name: str, schema: Schema | None = None, /, **names: str) -> str:
    """Return a statement's text with the placeholders filled in.

    Args:
        name: File name without its ending.
        schema: The ontology whose names are allowed; needed when there are placeholders.
        names: Placeholder → a class or relation type of the ontology.

    Raises:
        StoreError: A name that the ontology lacks.
        TemplateError: There is no such statement, or a placeholder has no name.

    Example:
        >>> statement("empty")
        'RETURN NOT EXISTS { MATCH (n) } AS empty'
    """
    for value in names.values():
        if schema is None or value not in schema.nodes.keys() | schema.relations.keys() or not value.isidentifier():
            raise StoreError(f"the ontology has no class or relation {value!r}", hint="`kgdx schema` shows what it has")
    try:
        return _PLACEHOLDER.sub(lambda match: names[match[1]], text_of(name))
    except KeyError as error:
        raise TemplateError(f"the statement {name} needs a name for {error.args[0]}") from None


@cache
def text_of(name: str) -> str:
    """Return a statement's text, with its placeholders.

    Example:
        >>> text_of("count_nodes")
        'MATCH (n:<label>) RETURN count(n) AS n'
    """
    lines = resource("cypher", "neo4j", f"{name}.cypher").read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("//")).strip()
