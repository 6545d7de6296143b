// purpose: The diagnosis runs kept for one case, the newest first.
// params: case_id: string
// columns: id, created, policy, kgdx_version, fingerprint, trace, text_digest
MATCH (c:PatientCase)-[:HAS_RUN]->(r:Diagnosis) WHERE c.id = $case_id
RETURN r.id AS id, r.created AS created, r.policy AS policy, r.kgdx_version AS kgdx_version,
       r.fingerprint AS fingerprint, r.trace AS trace, r.text_digest AS text_digest
ORDER BY created DESC, id
