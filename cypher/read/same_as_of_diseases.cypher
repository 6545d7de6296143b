// purpose: Entries of other vocabularies for the same disease; `relation` says what `other` is to `disease`.
// params: diseases: strings
// columns: disease, other, name, relation, method, score, evidence, source
MATCH (d:Disease)-[r:SAME_AS]->(o:Disease) WHERE d.id IN $diseases
RETURN d.id AS disease, o.id AS other, o.name AS name,
       CASE r.relation WHEN 'narrower' THEN 'broader' WHEN 'broader' THEN 'narrower' ELSE r.relation END AS relation,
       r.method AS method, r.score AS score, coalesce(r.evidence, []) AS evidence, r.source AS source
ORDER BY disease, other, source
UNION ALL
MATCH (d:Disease)<-[r:SAME_AS]-(o:Disease) WHERE d.id IN $diseases
RETURN d.id AS disease, o.id AS other, o.name AS name, r.relation AS relation,
       r.method AS method, r.score AS score, coalesce(r.evidence, []) AS evidence, r.source AS source
ORDER BY disease, other, source
