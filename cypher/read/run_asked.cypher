// purpose: What a consultation asked for and ordered, in the order of its questions.
// params: run_id: string
// columns: relation, turn, id, name, answer, gain
MATCH (r:Diagnosis)-[k:ASKED|ORDERED]->(t) WHERE r.id = $run_id
RETURN type(k) AS relation, k.turn AS turn, t.id AS id, t.name AS name, k.answer AS answer, k.gain AS gain
ORDER BY turn, id
