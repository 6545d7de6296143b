// purpose: Symptoms of diseases, in their source's words; at most `limit` of each disease's, all without it.
// action: get_symptom, get_symptoms of Symptom: Symptoms of diseases.
// params: diseases: strings, limit: integer?
// columns: disease, id, name, language, score, antecedent, reference, source, total
MATCH (d:Disease)-[r:HAS_SYMPTOM]->(x:Symptom) WHERE d.id IN $diseases
WITH d.id AS disease, {id: x.id, name: x.name, language: x.language, score: r.score, antecedent: r.antecedent,
     reference: reduce(cited = head(r.references), one IN tail(r.references) | cited + ';' + one),
     source: r.source} AS row
ORDER BY disease, row.id, row.source, row.reference
WITH disease, collect(row) AS rows
WITH disease, size(rows) AS total, rows[0..coalesce($limit, size(rows))] AS rows
UNWIND rows AS row
RETURN disease, row.id AS id, row.name AS name, row.language AS language, row.score AS score,
       row.antecedent AS antecedent, row.reference AS reference, row.source AS source, total
ORDER BY disease, id, source, reference
