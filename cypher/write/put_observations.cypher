// purpose: Add phenotypes that the case shows; returns the ids written, so that unknown ones can be told.
// params: case_id: string, source: string, rows: rows
// row: id: string, onset: string?, span_start: integer?, span_end: integer?, matched: string?, method: string?,
//     score: float?, text: string?
// columns: id
UNWIND $rows AS row
MATCH (c:PatientCase {id: $case_id})
MATCH (p:Phenotype {id: row.id})
MERGE (c)-[o:OBSERVED]->(p)
SET o.source = $source, o.onset = row.onset, o.span_start = row.span_start, o.span_end = row.span_end,
    o.matched = row.matched, o.method = row.method, o.score = row.score, o.text = row.text
RETURN p.id AS id
