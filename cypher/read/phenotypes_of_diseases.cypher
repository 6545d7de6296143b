// purpose: What diseases present with, one row for each annotation.
// params: diseases: strings
// columns: disease, id, name, frequency, numerator, denominator, percentage, frequency_class, onset, evidence,
//     reference, source, sex, modifiers, aspect
MATCH (d:Disease)-[r:HAS_PHENOTYPE]->(p:Phenotype) WHERE d.id IN $diseases
RETURN d.id AS disease, p.id AS id, p.name AS name,
       r.frequency AS frequency, r.numerator AS numerator, r.denominator AS denominator,
       r.percentage AS percentage, r.frequency_class AS frequency_class, r.onset AS onset,
       r.evidence AS evidence, r.reference AS reference, r.source AS source,
       r.sex AS sex, coalesce(r.modifiers, []) AS modifiers, r.aspect AS aspect
ORDER BY disease, id, source, reference, frequency
