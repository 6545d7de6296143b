// purpose: Add the tests that a consultation ordered; returns the ids that were written.
// params: run_id: string, source: string, rows: rows
// row: id: string, turn: integer, answer: string?, gain: float?
// columns: id
UNWIND $rows AS row
MATCH (r:Diagnosis {id: $run_id})
MATCH (p:Test {id: row.id})
MERGE (r)-[k:ORDERED]->(p)
SET k.source = $source, k.turn = row.turn, k.answer = row.answer, k.gain = row.gain
RETURN p.id AS id
