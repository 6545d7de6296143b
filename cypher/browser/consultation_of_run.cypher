// purpose: What a consultation asked for and ordered, and the diseases that it ranked first.
// params: run: string, ranks: integers
// columns: path
MATCH path = (:PatientCase)-[:HAS_RUN]->(:Diagnosis {id: $run})-[:ASKED|ORDERED]->()
RETURN path
UNION
MATCH path = (:PatientCase)-[:HAS_RUN]->(:Diagnosis {id: $run})-[considered:CONSIDERED]->(:Disease)
WHERE considered.rank IN $ranks
RETURN path
