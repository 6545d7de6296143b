// purpose: What each case of one source shows and was diagnosed with.
// params: source: string
// columns: id, label, synthetic, observed, diseases
MATCH (c:PatientCase) WHERE c.source = $source
OPTIONAL MATCH (c)-[:OBSERVED]->(p:Phenotype)
WITH c, p.id AS phenotype ORDER BY phenotype
WITH c, collect(DISTINCT phenotype) AS observed
OPTIONAL MATCH (c)-[:DIAGNOSED]->(d:Disease)
WITH c, observed, d.id AS disease ORDER BY disease
WITH c.id AS id, c.label AS label, c.synthetic AS synthetic, observed, collect(DISTINCT disease) AS diseases
RETURN id, label, synthetic, observed, diseases
ORDER BY id
