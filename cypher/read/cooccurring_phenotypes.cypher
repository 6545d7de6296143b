// purpose: Phenotypes observed in the same cases as one phenotype, by number of cases.
// params: phenotype: string, source: string?, limit: integer
// columns: id, name, cases
MATCH (p:Phenotype)<-[a:OBSERVED]-(c:PatientCase) WHERE p.id = $phenotype
WITH DISTINCT c, a.source AS source WHERE $source IS NULL OR source = $source
MATCH (c)-[b:OBSERVED]->(q:Phenotype)
WITH c, q, b.source AS source
WHERE ($source IS NULL OR source = $source) AND q.id <> $phenotype
RETURN q.id AS id, q.name AS name, count(DISTINCT c.id) AS cases
ORDER BY cases DESC, id LIMIT $limit
