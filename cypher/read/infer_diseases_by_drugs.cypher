// purpose: Diseases for which the most of the drugs are recommended, indicated or used off label;
//     nodes that mean the same thing have one `given` and count once.
// action: infer_by_drug, infer_by_drugs of Drug: Diseases for which most of the drugs are recommended or indicated.
// params: drugs: rows, min_match_count: integer, limit: integer
// row: given: string, id: string
// columns: id, name, matched, matched_ids, matched_names
UNWIND $drugs AS row
MATCH (x:Drug {id: row.id})-[:RECOMMEND_DRUG|INDICATION|OFF_LABEL_USE]-(d:Disease)
WITH d, count(DISTINCT row.given) AS matched, collect(DISTINCT x) AS found
WHERE matched >= $min_match_count
WITH d, found, matched, d.id AS id ORDER BY matched DESC, id LIMIT $limit
UNWIND found AS x
WITH id, d.name AS name, matched, x.id AS matched_id, x.name AS matched_name ORDER BY matched_id
WITH id, name, matched, collect(matched_id) AS matched_ids, collect(matched_name) AS matched_names
RETURN id, name, matched, matched_ids, matched_names
ORDER BY matched DESC, id
