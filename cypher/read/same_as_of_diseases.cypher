// purpose: Entries of other vocabularies for the same disease; `relation` says what `other` is to `disease`.
// params: diseases: strings
// columns: disease, other, name, relation, method, score, evidence, source
MATCH (d:Disease)-[r:SAME_AS|BROAD_MATCH|NARROW_MATCH|CLOSE_MATCH]->(o:Disease) WHERE d.id IN $diseases
RETURN d.id AS disease, o.id AS other, o.name AS name,
       CASE type(r) WHEN 'SAME_AS' THEN 'exact' WHEN 'BROAD_MATCH' THEN 'broader' WHEN 'NARROW_MATCH' THEN 'narrower'
                    ELSE 'close' END AS relation,
       r.method AS method, r.score AS score, coalesce(r.evidence, []) AS evidence, r.source AS source
ORDER BY disease, other, source
UNION ALL
MATCH (d:Disease)<-[r:SAME_AS|BROAD_MATCH|NARROW_MATCH|CLOSE_MATCH]-(o:Disease) WHERE d.id IN $diseases
RETURN d.id AS disease, o.id AS other, o.name AS name,
       CASE type(r) WHEN 'SAME_AS' THEN 'exact' WHEN 'BROAD_MATCH' THEN 'narrower' WHEN 'NARROW_MATCH' THEN 'broader'
                    ELSE 'close' END AS relation,
       r.method AS method, r.score AS score, coalesce(r.evidence, []) AS evidence, r.source AS source
ORDER BY disease, other, source
