// purpose: Add the diagnoses that the case's source states; returns the ids that were written.
// params: case_id: string, source: string, rows: rows
// row: id: string, status: string?
// columns: id
UNWIND $rows AS row
MATCH (c:PatientCase {id: $case_id})
MATCH (d:Disease {id: row.id})
MERGE (c)-[r:DIAGNOSED]->(d)
SET r.source = $source, r.status = row.status
RETURN d.id AS id
