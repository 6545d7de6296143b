// purpose: Diseases that have the most of the symptoms, given in their source's words.
// params: symptoms: strings, min_match_count: integer, limit: integer
// columns: id, name, matched, matched_names
MATCH (s:Symptom)<-[:HAS_SYMPTOM]-(d:Disease) WHERE s.name IN $symptoms
WITH d, collect(DISTINCT s.name) AS names
WITH d, names, size(names) AS matched WHERE matched >= $min_match_count
RETURN d.id AS id, d.name AS name, matched, names AS matched_names
ORDER BY matched DESC, id LIMIT $limit
