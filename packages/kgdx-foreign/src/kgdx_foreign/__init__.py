"""Neo4j databases that others built: read by kgdx's templates, through a mapping from their names to the ontology."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgdx.lazy import names_of

if TYPE_CHECKING:
    from kgdx_foreign.mapped_store import Py2neoReader

__all__ = ["Py2neoReader"]

__getattr__ = names_of("kgdx_foreign", {"mapped_store": "Py2neoReader"})
