// The newest saved diagnoses: patients, findings and the first candidates
MATCH (c:PatientCase)-[:HAS_RUN]->(r:Diagnosis)
WITH c, r ORDER BY r.created DESC LIMIT 5
MATCH path = (c)-[:HAS_RUN]->(r)-[considered:CONSIDERED]->(:Disease) WHERE considered.rank <= 3
RETURN path
UNION
MATCH (c:PatientCase)-[:HAS_RUN]->(r:Diagnosis)
WITH c, r ORDER BY r.created DESC LIMIT 5
MATCH path = (c)-[:OBSERVED|EXCLUDED]->(:Phenotype)
RETURN path
