// purpose: Forget the candidates of a run and what it weighed, before they are stated anew.
// params: run_id: string
// columns: n
MATCH (r:Diagnosis)-[k:CONSIDERED|WEIGHED]->(t) WHERE r.id = $run_id
WITH r, collect(k) AS ks
FOREACH (k IN ks | DELETE k)
RETURN size(ks) AS n
