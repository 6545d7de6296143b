// purpose: MeSH headings of diseases, with the record of the decision that mapped them.
// params: diseases: strings
// columns: disease, id, heading, scope_note, tree_numbers, relation, method, score, decision, source
MATCH (d:Disease)-[r:MAPPED_TO]->(m:MeshDescriptor) WHERE d.id IN $diseases
RETURN d.id AS disease, m.id AS id, m.name AS heading, m.scope_note AS scope_note,
       coalesce(m.tree_numbers, []) AS tree_numbers, r.relation AS relation, r.method AS method, r.score AS score,
       r.decision AS decision, r.source AS source
ORDER BY disease, id, source
