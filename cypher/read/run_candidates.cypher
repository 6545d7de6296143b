// purpose: The candidates that a diagnosis run considered.
// params: run_id: string
// columns: rank, id, name, score
MATCH (r:Diagnosis)-[k:CONSIDERED]->(d:Disease) WHERE r.id = $run_id
RETURN k.rank AS rank, d.id AS id, d.name AS name, k.score AS score
ORDER BY rank, id
