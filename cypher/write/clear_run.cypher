// purpose: Forget the candidates of a run, before they are stated anew.
// params: run_id: string
// columns: n
MATCH (r:Diagnosis)-[k:CONSIDERED]->(d:Disease) WHERE r.id = $run_id
WITH r, collect(k) AS ks
FOREACH (k IN ks | DELETE k)
RETURN size(ks) AS n
