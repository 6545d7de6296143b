"""Arrays: sparse matrices and the ontology's closure, without any graph."""
