// purpose: Drugs that are recommended for diseases; at most `limit` of each disease's, all without it.
// action: get_drug, get_drugs of Drug: Drugs that are recommended for diseases.
// params: diseases: strings, limit: integer?
// columns: disease, id, name, language, score, reference, source, total
MATCH (d:Disease)-[r:RECOMMEND_DRUG]->(x:Drug) WHERE d.id IN $diseases
WITH d.id AS disease, {id: x.id, name: x.name, language: x.language, score: r.score,
     reference: reduce(cited = head(r.references), one IN tail(r.references) | cited + ';' + one),
     source: r.source} AS row
ORDER BY disease, row.id, row.source, row.reference
WITH disease, collect(row) AS rows
WITH disease, size(rows) AS total, rows[0..coalesce($limit, size(rows))] AS rows
UNWIND rows AS row
RETURN disease, row.id AS id, row.name AS name, row.language AS language, row.score AS score,
       row.reference AS reference, row.source AS source, total
ORDER BY disease, id, source, reference
