// purpose: Diseases that present with the most of the phenotypes; an annotation below a phenotype counts for it.
// params: phenotypes: strings, min_match_count: integer, limit: integer
// columns: id, name, matched, matched_ids, matched_names
MATCH (p:Phenotype)<-[:IS_A*0..20]-(q:Phenotype)<-[:HAS_PHENOTYPE|HAS_INHERITANCE|HAS_COURSE]-(d:Disease) WHERE p.id IN $phenotypes
WITH d, collect(DISTINCT p) AS found
WITH d, found, size(found) AS matched WHERE matched >= $min_match_count
WITH d, found, matched, d.id AS id ORDER BY matched DESC, id LIMIT $limit
UNWIND found AS p
WITH id, d.name AS name, matched, p.id AS matched_id, p.name AS matched_name ORDER BY matched_id
WITH id, name, matched, collect(matched_id) AS matched_ids, collect(matched_name) AS matched_names
RETURN id, name, matched, matched_ids, matched_names
ORDER BY matched DESC, id
