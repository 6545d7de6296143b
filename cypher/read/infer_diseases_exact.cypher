// purpose: Diseases that are annotated with the most of the phenotypes themselves.
// params: phenotypes: strings, min_match_count: integer, limit: integer
// columns: id, name, matched, matched_ids, matched_names
MATCH (p:Phenotype)<-[:HAS_PHENOTYPE]-(d:Disease) WHERE p.id IN $phenotypes
WITH d, collect(DISTINCT p) AS found
WITH d, found, size(found) AS matched WHERE matched >= $min_match_count
WITH d, found, matched, d.id AS id ORDER BY matched DESC, id LIMIT $limit
RETURN id, d.name AS name, matched, [x IN found | x.id] AS matched_ids, [x IN found | x.name] AS matched_names
ORDER BY matched DESC, id
