// purpose: Diseases that occur together with the given ones, whichever of the two states it; at most `limit` of each
//     disease's, all without it.
// params: diseases: strings, limit: integer?
// columns: disease, id, name, score, reference, source, total
MATCH (d:Disease)-[r:HAS_COMORBIDITY]-(x:Disease) WHERE d.id IN $diseases
WITH d.id AS disease, x.id AS id, x.name AS name, r.source AS source,
     reduce(cited = head(r.references), one IN tail(r.references) | cited + ';' + one) AS reference,
     max(r.score) AS score
WITH disease, {id: id, name: name, score: score, reference: reference, source: source} AS row
ORDER BY disease, row.id, row.source, row.reference
WITH disease, collect(row) AS rows
WITH disease, size(rows) AS total, rows[0..coalesce($limit, size(rows))] AS rows
UNWIND rows AS row
RETURN disease, row.id AS id, row.name AS name, row.score AS score, row.reference AS reference, row.source AS source,
       total
ORDER BY disease, id, source, reference
