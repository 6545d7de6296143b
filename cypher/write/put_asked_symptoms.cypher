// purpose: Add the symptoms, such as evidences of DDXPlus, that a consultation asked for; returns the ids that were written.
// params: run_id: string, source: string, rows: rows
// row: id: string, turn: integer, answer: string?, gain: float?
// columns: id
UNWIND $rows AS row
MATCH (r:Diagnosis {id: $run_id})
MATCH (p:Symptom {id: row.id})
MERGE (r)-[k:ASKED]->(p)
SET k.source = $source, k.turn = row.turn, k.answer = row.answer, k.gain = row.gain
RETURN p.id AS id
