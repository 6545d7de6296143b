// purpose: Add the diseases that a run considered; returns the ids that were written.
// params: run_id: string, source: string, rows: rows
// row: id: string, rank: integer, score: float?, contributions: strings?
// columns: id
UNWIND $rows AS row
MATCH (r:Diagnosis {id: $run_id})
MATCH (d:Disease {id: row.id})
MERGE (r)-[k:CONSIDERED]->(d)
SET k.source = $source, k.rank = row.rank, k.score = row.score, k.contributions = row.contributions
RETURN d.id AS id
