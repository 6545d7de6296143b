"""Neo4j databases that others built: read by kgdx's templates, through a mapping from their names to the ontology."""

from kgdx_foreign.mapped_store import Py2neoReader

__all__ = ["Py2neoReader"]
