// purpose: What diseases present with, one row for each annotation; at most `limit` of each disease's, all without it.
// params: diseases: strings, limit: integer?
// columns: disease, id, name, frequency, numerator, denominator, percentage, frequency_class, onset, evidence,
//     reference, source, sex, modifiers, aspect, total
MATCH (d:Disease)-[r:HAS_PHENOTYPE|HAS_INHERITANCE|HAS_COURSE]->(p:Phenotype) WHERE d.id IN $diseases
WITH d.id AS disease, p.id AS id, p.name AS name, r
ORDER BY disease, id, r.source,
     reduce(cited = head(r.references), one IN tail(r.references) | cited + ';' + one),
     r.frequency, r.evidence, r.onset, r.sex, r.aspect
WITH disease, collect({id: id, name: name, frequency: r.frequency, numerator: r.numerator, denominator: r.denominator,
     percentage: r.percentage, frequency_class: r.frequency_class, onset: r.onset, evidence: r.evidence,
     reference: reduce(cited = head(r.references), one IN tail(r.references) | cited + ';' + one),
     source: r.source, sex: r.sex, modifiers: coalesce(r.modifiers, []), aspect: r.aspect
     }) AS rows
WITH disease, size(rows) AS total, rows[0..coalesce($limit, size(rows))] AS rows
UNWIND rows AS row
RETURN disease, row.id AS id, row.name AS name, row.frequency AS frequency, row.numerator AS numerator,
       row.denominator AS denominator, row.percentage AS percentage, row.frequency_class AS frequency_class,
       row.onset AS onset, row.evidence AS evidence, row.reference AS reference, row.source AS source, row.sex AS sex,
       row.modifiers AS modifiers, row.aspect AS aspect, total
ORDER BY disease, id, source, reference, frequency
