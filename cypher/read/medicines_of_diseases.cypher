// purpose: Drugs that are indicated for diseases, used off label, or contraindicated; at most `limit` of each disease and
//     relation, all without it.
// action: get_medicine, get_medicines, get_indication, get_contraindication of Drug:
//     Drugs that are indicated for diseases, used off label, or contraindicated.
// params: diseases: strings, limit: integer?
// columns: disease, relation, id, name, source, total
MATCH (d:Disease)<-[r:INDICATION|OFF_LABEL_USE|CONTRAINDICATION]-(x:Drug) WHERE d.id IN $diseases
WITH d.id AS disease, type(r) AS relation, {id: x.id, name: x.name, source: r.source} AS row
ORDER BY disease, relation, row.id, row.source
WITH disease, relation, collect(row) AS rows
WITH disease, relation, size(rows) AS total, rows[0..coalesce($limit, size(rows))] AS rows
UNWIND rows AS row
RETURN disease, relation, row.id AS id, row.name AS name, row.source AS source, total
ORDER BY disease, relation, id, source
