// purpose: What users saved, in any version of the ontology: nodes.
// params: source: string
// columns: type, properties
MATCH (n) WHERE n.source = $source
RETURN labels(n)[0] AS type, properties(n) AS properties
