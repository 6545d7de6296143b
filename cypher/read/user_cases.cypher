// purpose: Cases of one source, with how much is known of each.
// params: source: string, limit: integer
// columns: id, label, observed, runs
MATCH (c:PatientCase) WHERE c.source = $source
WITH c ORDER BY c.id LIMIT $limit
OPTIONAL MATCH (c)-[:OBSERVED]->(p:Phenotype)
WITH c, count(DISTINCT p.id) AS observed
OPTIONAL MATCH (c)-[:HAS_RUN]->(r:Diagnosis)
RETURN c.id AS id, c.label AS label, observed, count(DISTINCT r.id) AS runs
ORDER BY id
