// purpose: What is typical of diseases and not among the known phenotypes: annotations that at least a
//     share (0 to 1) of patients has: n of m, a percentage, or the middle of an HPO frequency class.
//     What HPO's annotations say of inheritance, course and history (aspects I, C, M, H) is no finding.
//     `known` holds the phenotypes to leave out.
// params: diseases: strings, known: strings, minimum: float, limit: integer
// columns: disease, disease_name, phenotype, phenotype_name, share,
//     frequency, numerator, denominator, percentage, frequency_class, onset, evidence, reference, source
MATCH (d:Disease)-[h:HAS_PHENOTYPE]->(p:Phenotype) WHERE d.id IN $diseases
WITH d, p, h, h.aspect AS aspect, coalesce(h.share, 0.0) AS share
WHERE share >= $minimum AND (aspect IS NULL OR aspect = 'P') AND NOT p.id IN $known
RETURN d.id AS disease, d.name AS disease_name, p.id AS phenotype, p.name AS phenotype_name, share,
       h.frequency AS frequency, h.numerator AS numerator, h.denominator AS denominator,
       h.percentage AS percentage, h.frequency_class AS frequency_class, h.onset AS onset,
       h.evidence AS evidence,
       reduce(cited = head(h.references), one IN tail(h.references) | cited + ';' + one) AS reference,
       h.source AS source
ORDER BY share DESC, disease, phenotype, source, reference, frequency LIMIT $limit
