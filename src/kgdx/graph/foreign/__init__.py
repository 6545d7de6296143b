"""Neo4j databases that others built: read by kgdx's templates, through a mapping from their names to the ontology."""
