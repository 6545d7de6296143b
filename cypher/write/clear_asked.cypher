// purpose: Forget the questions and tests of a run, before they are stated anew.
// params: run_id: string
// columns: n
MATCH (r:Diagnosis)-[k:ASKED|ORDERED]->(t) WHERE r.id = $run_id
WITH r, collect(k) AS ks
FOREACH (k IN ks | DELETE k)
RETURN size(ks) AS n
