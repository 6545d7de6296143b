// purpose: Why findings speak for diseases by symptoms in a source's words that are phenotypes, at the finding itself, above
//     it (`ancestor`) or below it (`descendant`).
// params: diseases: strings, findings: strings
// columns: disease, disease_name, finding, finding_name, phenotype, direction, path_ids, path_names, symptom,
//     symptom_name, relation, reference, source
MATCH (d:Disease)-[h:HAS_SYMPTOM]->(s:Symptom) WHERE d.id IN $diseases
MATCH (s)-[m:MAPPED_TO]->(p:Phenotype)
MATCH path = (f:Phenotype)-[:IS_A*0..20]->(p) WHERE f.id IN $findings
WITH d, h, m, f, s, p, length(path) AS steps, [n IN nodes(path) | n.id] AS ids, [n IN nodes(path) | n.name] AS names
ORDER BY d.id, f.id, s.id, steps, p.id, ids
WITH d, h, m, f, s, p, min(steps) AS steps, head(collect(ids)) AS ids, head(collect(names)) AS names
RETURN d.id AS disease, d.name AS disease_name, f.id AS finding, f.name AS finding_name, p.id AS phenotype,
       CASE WHEN steps = 0 THEN 'exact' ELSE 'ancestor' END AS direction, ids AS path_ids, names AS path_names,
       s.id AS symptom, s.name AS symptom_name, m.relation AS relation,
       reduce(cited = head(h.references), one IN tail(h.references) | cited + ';' + one) AS reference,
       h.source AS source
ORDER BY disease, finding, size(path_ids), phenotype, symptom, source, reference, relation
UNION ALL
MATCH (d:Disease)-[h:HAS_SYMPTOM]->(s:Symptom) WHERE d.id IN $diseases
MATCH (s)-[m:MAPPED_TO]->(p:Phenotype)
MATCH path = (p)-[:IS_A*1..20]->(f:Phenotype) WHERE f.id IN $findings
WITH d, h, m, f, s, p, length(path) AS steps, [n IN nodes(path) | n.id] AS ids, [n IN nodes(path) | n.name] AS names
ORDER BY d.id, f.id, s.id, steps, p.id, ids
WITH d, h, m, f, s, p, head(collect(ids)) AS ids, head(collect(names)) AS names
RETURN d.id AS disease, d.name AS disease_name, f.id AS finding, f.name AS finding_name, p.id AS phenotype,
       'descendant' AS direction, reverse(ids) AS path_ids, reverse(names) AS path_names,
       s.id AS symptom, s.name AS symptom_name, m.relation AS relation,
       reduce(cited = head(h.references), one IN tail(h.references) | cited + ';' + one) AS reference,
       h.source AS source
ORDER BY disease, finding, size(path_ids), phenotype, symptom, source, reference, relation
