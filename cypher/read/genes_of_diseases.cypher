// purpose: Genes that diseases are associated with, or whose products are; at most `limit` of each disease's, all
//     without it.
// action: get_gene, get_genes of Gene: Genes that diseases are associated with.
// params: diseases: strings, limit: integer?
// columns: disease, relation, id, name, association, publications, source, total
MATCH (d:Disease)-[r:ASSOCIATED_GENE|DISEASE_PROTEIN]->(x:Gene) WHERE d.id IN $diseases
WITH d.id AS disease, {relation: type(r), id: x.id, name: x.name, association: r.association,
     publications: coalesce(r.publications, []), source: r.source} AS row
ORDER BY disease, row.id, row.relation, row.source, row.association
WITH disease, collect(row) AS rows
WITH disease, size(rows) AS total, rows[0..coalesce($limit, size(rows))] AS rows
UNWIND rows AS row
RETURN disease, row.relation AS relation, row.id AS id, row.name AS name, row.association AS association,
       row.publications AS publications, row.source AS source, total
ORDER BY disease, id, relation, source, association
