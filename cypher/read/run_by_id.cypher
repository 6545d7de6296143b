// purpose: One diagnosis run and its case.
// params: run_id: string
// columns: id, created, policy, kgdx_version, fingerprint, trace, text_digest, case_id
MATCH (c:PatientCase)-[:HAS_RUN]->(r:Diagnosis {id: $run_id})
RETURN r.id AS id, r.created AS created, r.policy AS policy, r.kgdx_version AS kgdx_version,
       r.fingerprint AS fingerprint, r.trace AS trace, r.text_digest AS text_digest, c.id AS case_id
