// purpose: What is typical of diseases and not among the known phenotypes: annotations of aspect P that at least a
//     share of patients has.
//     `known` holds what to leave out: the findings, their ancestors and their descendants.
// params: diseases: strings, known: strings, minimum: float, limit: integer
// columns: disease, disease_name, phenotype, phenotype_name,
//     frequency, numerator, denominator, percentage, frequency_class, onset, evidence, reference, source
MATCH (d:Disease)-[h:HAS_PHENOTYPE]->(p:Phenotype) WHERE d.id IN $diseases
WITH d, p, h, h.percentage AS share, h.aspect AS aspect
WHERE share >= $minimum AND aspect = 'P' AND NOT p.id IN $known
RETURN d.id AS disease, d.name AS disease_name, p.id AS phenotype, p.name AS phenotype_name,
       h.frequency AS frequency, h.numerator AS numerator, h.denominator AS denominator,
       h.percentage AS percentage, h.frequency_class AS frequency_class, h.onset AS onset,
       h.evidence AS evidence, h.reference AS reference, h.source AS source
ORDER BY percentage DESC, disease, phenotype, source, reference, frequency LIMIT $limit
