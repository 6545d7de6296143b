// purpose: What speaks against diseases: the case excludes a phenotype that the disease has, at it or below it
//     (`excluded`), or shows one that the disease is annotated not to have, at it or above it (`annotated_absent`).
// params: diseases: strings, findings: strings, excluded: strings
// columns: kind, relation, disease, disease_name, finding, finding_name, phenotype, phenotype_name, direction,
//     path_ids, path_names, frequency, numerator, denominator, percentage, frequency_class, onset, evidence,
//     reference, source
MATCH (d:Disease)-[h:HAS_PHENOTYPE|HAS_INHERITANCE|HAS_COURSE]->(p:Phenotype) WHERE d.id IN $diseases
MATCH path = (p)-[:IS_A*0..20]->(f:Phenotype) WHERE f.id IN $excluded
WITH d, h, f, p, length(path) AS steps, [n IN nodes(path) | n.id] AS ids, [n IN nodes(path) | n.name] AS names
ORDER BY d.id, f.id, steps, p.id, ids
WITH d, h, f, p, min(steps) AS steps, head(collect(ids)) AS ids, head(collect(names)) AS names
RETURN 'excluded' AS kind, 'HAS_PHENOTYPE' AS relation,
       d.id AS disease, d.name AS disease_name, f.id AS finding, f.name AS finding_name,
       p.id AS phenotype, p.name AS phenotype_name,
       CASE WHEN steps = 0 THEN 'exact' ELSE 'descendant' END AS direction,
       reverse(ids) AS path_ids, reverse(names) AS path_names,
       h.frequency AS frequency, h.numerator AS numerator, h.denominator AS denominator,
       h.percentage AS percentage, h.frequency_class AS frequency_class, h.onset AS onset,
       h.evidence AS evidence,
       reduce(cited = head(h.references), one IN tail(h.references) | cited + ';' + one) AS reference,
       h.source AS source
ORDER BY disease, finding, size(path_ids), phenotype, source, reference, frequency
UNION ALL
MATCH (d:Disease)-[h:LACKS_PHENOTYPE]->(p:Phenotype) WHERE d.id IN $diseases
MATCH path = (f:Phenotype)-[:IS_A*0..20]->(p) WHERE f.id IN $findings
WITH d, h, f, p, length(path) AS steps, [n IN nodes(path) | n.id] AS ids, [n IN nodes(path) | n.name] AS names
ORDER BY d.id, f.id, steps, p.id, ids
WITH d, h, f, p, min(steps) AS steps, head(collect(ids)) AS ids, head(collect(names)) AS names
RETURN 'annotated_absent' AS kind, 'LACKS_PHENOTYPE' AS relation,
       d.id AS disease, d.name AS disease_name, f.id AS finding, f.name AS finding_name,
       p.id AS phenotype, p.name AS phenotype_name,
       CASE WHEN steps = 0 THEN 'exact' ELSE 'ancestor' END AS direction, ids AS path_ids, names AS path_names,
       h.frequency AS frequency, h.numerator AS numerator, h.denominator AS denominator,
       h.percentage AS percentage, h.frequency_class AS frequency_class, h.onset AS onset,
       h.evidence AS evidence,
       reduce(cited = head(h.references), one IN tail(h.references) | cited + ';' + one) AS reference,
       h.source AS source
ORDER BY disease, finding, size(path_ids), phenotype, source, reference, frequency
