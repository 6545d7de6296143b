// purpose: Diseases that occur together with the most of the given diseases;
//     nodes that mean the same thing have one `given` and count once.
// action: infer_by_comorbidity, infer_by_comorbidities of Disease:
//     Diseases that occur together with most of the named ones.
// params: comorbidities: rows, min_match_count: integer, limit: integer
// row: given: string, id: string
// columns: id, name, matched, matched_ids, matched_names
UNWIND $comorbidities AS row
MATCH (x:Disease {id: row.id})-[:HAS_COMORBIDITY]-(d:Disease)
WITH d, count(DISTINCT row.given) AS matched, collect(DISTINCT x) AS found
WHERE matched >= $min_match_count
WITH d, found, matched, d.id AS id ORDER BY matched DESC, id LIMIT $limit
UNWIND found AS x
WITH id, d.name AS name, matched, x.id AS matched_id, x.name AS matched_name ORDER BY matched_id
WITH id, name, matched, collect(matched_id) AS matched_ids, collect(matched_name) AS matched_names
RETURN id, name, matched, matched_ids, matched_names
ORDER BY matched DESC, id
