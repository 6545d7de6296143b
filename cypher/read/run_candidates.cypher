// purpose: The candidates that a diagnosis run considered.
// params: run_id: string
// columns: rank, id, name, score, contributions
MATCH (r:Diagnosis)-[k:CONSIDERED]->(d:Disease) WHERE r.id = $run_id
RETURN k.rank AS rank, d.id AS id, d.name AS name, k.score AS score, coalesce(k.contributions, []) AS contributions
ORDER BY rank, id
