// purpose: Forget what is stated of a case, before it is stated anew; the case, its runs and its publications stay.
// params: case_id: string
// columns: n
MATCH (c:PatientCase)-[r:OBSERVED|EXCLUDED|DIAGNOSED]->(x) WHERE c.id = $case_id
WITH c, collect(r) AS rs
FOREACH (r IN rs | DELETE r)
RETURN size(rs) AS n
