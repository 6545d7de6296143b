// purpose: Add the findings that a run weighed; returns the ids that were written.
// params: run_id: string, source: string, rows: rows
// row: id: string, contribution: float?, contributions: strings
// columns: id
UNWIND $rows AS row
MATCH (r:Diagnosis {id: $run_id})
MATCH (p:Phenotype {id: row.id})
MERGE (r)-[k:WEIGHED]->(p)
SET k.source = $source, k.contribution = row.contribution, k.contributions = row.contributions
RETURN p.id AS id
