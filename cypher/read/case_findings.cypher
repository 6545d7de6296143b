// purpose: What is known of one case: observed and excluded phenotypes.
// params: case_id: string
// columns: relation, id, name, onset, span_start, span_end, matched, method, score, text
MATCH (c:PatientCase)-[r:OBSERVED|EXCLUDED]->(p:Phenotype) WHERE c.id = $case_id
RETURN type(r) AS relation, p.id AS id, p.name AS name, r.onset AS onset, r.span_start AS span_start,
       r.span_end AS span_end, r.matched AS matched, r.method AS method, r.score AS score, r.text AS text
ORDER BY relation DESC, id, onset, span_start, span_end, matched, method, score, text
