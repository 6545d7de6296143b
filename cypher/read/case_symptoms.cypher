// purpose: What the source of one case says in words: observed and excluded symptoms.
// params: case_id: string
// columns: relation, id, name, language, source
MATCH (c:PatientCase)-[r:OBSERVED|EXCLUDED]->(s:Symptom) WHERE c.id = $case_id
RETURN type(r) AS relation, s.id AS id, s.name AS name, s.language AS language, r.source AS source
ORDER BY relation DESC, id, source
