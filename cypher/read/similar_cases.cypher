// purpose: Cases that share the most observed phenotypes with the given ones, and what they were diagnosed with.
// params: phenotypes: strings, without: string?, min_match_count: integer, limit: integer
// columns: id, label, shared, shared_ids, diseases
MATCH (p:Phenotype)<-[:OBSERVED]-(c:PatientCase) WHERE p.id IN $phenotypes AND c.id <> coalesce($without, '')
WITH c, collect(DISTINCT p.id) AS ids
WITH c, ids, size(ids) AS shared WHERE shared >= $min_match_count
WITH c, ids, shared ORDER BY shared DESC, c.id LIMIT $limit
OPTIONAL MATCH (c)-[:DIAGNOSED]->(d:Disease)
RETURN c.id AS id, c.label AS label, shared, ids AS shared_ids, collect(DISTINCT d.id) AS diseases
ORDER BY shared DESC, id
