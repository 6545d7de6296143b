// purpose: Make a diagnosis run of a case or update it; the time it was first kept stays.
// params: case_id: string, run_id: string, source: string, created: string, policy: string, kgdx_version: string,
//     fingerprint: string, trace: string?, text_digest: string?
// columns: id
MATCH (c:PatientCase {id: $case_id})
MERGE (r:Diagnosis {id: $run_id})
SET r.source = $source, r.name = 'Diagnosis of ' + coalesce(c.label, c.id), r.created = coalesce(r.created, $created), r.policy = $policy, r.kgdx_version = $kgdx_version,
    r.fingerprint = $fingerprint, r.trace = $trace, r.text_digest = $text_digest
MERGE (c)-[h:HAS_RUN]->(r)
SET h.source = $source
RETURN r.id AS id
