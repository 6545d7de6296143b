// purpose: What users saved, in any version of the ontology: edges.
// params: source: string
// columns: type, properties, start_label, start, end_label, end
MATCH (a)-[r]->(b) WHERE r.source = $source
RETURN type(r) AS type, properties(r) AS properties, labels(a)[0] AS start_label, a.id AS start,
       labels(b)[0] AS end_label, b.id AS end
