// purpose: How findings and annotated phenotypes meet at an ancestor that a scorer named: both shortest IS_A paths.
// params: diseases: strings, findings: strings, matched: strings, via: strings
// columns: disease, disease_name, finding, finding_name, phenotype, phenotype_name, via, via_name,
//     finding_path_ids, finding_path_names, phenotype_path_ids, phenotype_path_names,
//     frequency, numerator, denominator, percentage, frequency_class, onset, evidence, reference, source
MATCH (f:Phenotype) WHERE f.id IN $findings
WITH DISTINCT f
MATCH up = (f)-[:IS_A*0..20]->(v:Phenotype) WHERE v.id IN $via
WITH f, v, length(up) AS steps, [n IN nodes(up) | n.id] AS ids, [n IN nodes(up) | n.name] AS names
ORDER BY f.id, v.id, steps, ids
WITH f, v, head(collect(ids)) AS ids, head(collect(names)) AS names
WITH collect({finding: f.id, finding_name: f.name, via: v.id, ids: ids, names: names}) AS ups
UNWIND $diseases AS disease_id
MATCH (d:Disease {id: disease_id})-[h:HAS_PHENOTYPE|HAS_INHERITANCE|HAS_COURSE]->(p:Phenotype) WHERE p.id IN $matched
MATCH down = (p)-[:IS_A*0..20]->(v:Phenotype) WHERE v.id IN $via
WITH ups, d, h, p, v, length(down) AS steps, [n IN nodes(down) | n.id] AS ids, [n IN nodes(down) | n.name] AS names
ORDER BY d.id, p.id, v.id, steps, ids
WITH ups, d, h, p, v, head(collect(ids)) AS ids, head(collect(names)) AS names
UNWIND ups AS up
WITH up, d, h, p, v, ids, names WHERE up.via = v.id
RETURN d.id AS disease, d.name AS disease_name, up.finding AS finding, up.finding_name AS finding_name,
       p.id AS phenotype, p.name AS phenotype_name, v.id AS via, v.name AS via_name,
       up.ids AS finding_path_ids, up.names AS finding_path_names,
       ids AS phenotype_path_ids, names AS phenotype_path_names,
       h.frequency AS frequency, h.numerator AS numerator, h.denominator AS denominator,
       h.percentage AS percentage, h.frequency_class AS frequency_class, h.onset AS onset,
       h.evidence AS evidence,
       reduce(cited = head(h.references), one IN tail(h.references) | cited + ';' + one) AS reference,
       h.source AS source
ORDER BY disease, finding, via, phenotype, source, reference, frequency
