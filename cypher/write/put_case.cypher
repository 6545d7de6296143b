// purpose: Make a case or update it.
// params: case_id: string, source: string, label: string?, sex: string?, age: string?, text: string?,
//     origin: string?, synthetic: boolean?
// columns: id
MERGE (c:PatientCase {id: $case_id})
SET c.source = $source, c.label = $label, c.sex = $sex, c.age = $age, c.text = $text, c.origin = $origin,
    c.synthetic = $synthetic
RETURN c.id AS id
