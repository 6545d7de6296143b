// purpose: Diseases that the most of the genes, or their products, are associated with;
//     nodes that mean the same thing have one `given` and count once.
// action: infer_by_gene, infer_by_genes of Gene: Diseases that are associated with most of the genes.
// params: genes: rows, min_match_count: integer, limit: integer
// row: given: string, id: string
// columns: id, name, matched, matched_ids, matched_names
UNWIND $genes AS row
MATCH (x:Gene {id: row.id})<-[:ASSOCIATED_GENE|DISEASE_PROTEIN]-(d:Disease)
WITH d, count(DISTINCT row.given) AS matched, collect(DISTINCT x) AS found
WHERE matched >= $min_match_count
WITH d, found, matched, d.id AS id ORDER BY matched DESC, id LIMIT $limit
UNWIND found AS x
WITH id, d.name AS name, matched, x.id AS matched_id, x.name AS matched_name ORDER BY matched_id
WITH id, name, matched, collect(matched_id) AS matched_ids, collect(matched_name) AS matched_names
RETURN id, name, matched, matched_ids, matched_names
ORDER BY matched DESC, id
