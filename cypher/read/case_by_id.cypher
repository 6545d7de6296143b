// purpose: One case.
// params: case_id: string
// columns: id, label, sex, age, text, origin, synthetic, source
MATCH (c:PatientCase {id: $case_id})
RETURN c.id AS id, c.label AS label, c.sex AS sex, c.age AS age, c.text AS text, c.origin AS origin,
       c.synthetic AS synthetic, c.source AS source
