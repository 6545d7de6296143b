// purpose: Diseases that present with the most of the phenotypes; an annotation below a phenotype counts for it.
// params: phenotypes: strings, min_match_count: integer, limit: integer
// columns: id, name, matched, matched_ids, matched_names
MATCH (p:Phenotype)<-[:IS_A*0..20]-(q:Phenotype)<-[:HAS_PHENOTYPE]-(d:Disease) WHERE p.id IN $phenotypes
WITH d, collect(DISTINCT p.id) AS ids, collect(DISTINCT p.name) AS names
WITH d, ids, names, size(ids) AS matched WHERE matched >= $min_match_count
RETURN d.id AS id, d.name AS name, matched, ids AS matched_ids, names AS matched_names
ORDER BY matched DESC, id LIMIT $limit
