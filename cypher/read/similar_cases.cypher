// purpose: Cases that share the most observed phenotypes with the given ones, and what they were diagnosed with;
//     `without` holds the ids of cases to leave out, made-up ones are none.
// params: phenotypes: strings, without: strings, min_match_count: integer, limit: integer
// columns: id, label, shared, shared_ids, diseases
MATCH (p:Phenotype)<-[:OBSERVED]-(c:PatientCase) WHERE p.id IN $phenotypes
WITH c, collect(DISTINCT p.id) AS ids
WITH c, ids, size(ids) AS shared
WHERE shared >= $min_match_count AND NOT c.id IN $without AND coalesce(c.synthetic, false) = false
WITH c, ids, shared, c.id AS id ORDER BY shared DESC, id LIMIT $limit
UNWIND ids AS phenotype
WITH c, id, shared, phenotype ORDER BY phenotype
WITH c, id, shared, collect(phenotype) AS shared_ids
WITH id, c.label AS label, shared, shared_ids, [(c)-[:DIAGNOSED]->(d:Disease) | d.id] AS stated
UNWIND CASE WHEN size(stated) = 0 THEN [null] ELSE stated END AS disease
WITH id, label, shared, shared_ids, disease ORDER BY disease
WITH id, label, shared, shared_ids, collect(DISTINCT disease) AS diseases
RETURN id, label, shared, shared_ids, diseases
ORDER BY shared DESC, id
