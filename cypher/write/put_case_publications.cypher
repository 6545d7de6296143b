// purpose: Add the publications that report a case, made where they are not there yet.
// params: case_id: string, source: string, rows: rows
// row: id: string, title: string?
// columns: id
UNWIND $rows AS row
MATCH (c:PatientCase {id: $case_id})
MERGE (b:Publication {id: row.id})
SET b.title = coalesce(row.title, b.title), b.source = coalesce(b.source, $source)
MERGE (c)-[r:REPORTED_IN]->(b)
SET r.source = $source
RETURN b.id AS id
