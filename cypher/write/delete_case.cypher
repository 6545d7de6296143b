// purpose: Remove a case with its findings and runs.
// params: case_id: string
MATCH (c:PatientCase) WHERE c.id = $case_id
OPTIONAL MATCH (c)-[:HAS_RUN]->(r:Diagnosis)
DETACH DELETE r, c
