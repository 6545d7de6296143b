// purpose: Genes that diseases are associated with.
// params: diseases: strings
// columns: disease, id, name, association, source
MATCH (d:Disease)-[r:ASSOCIATED_GENE]->(g:Gene) WHERE d.id IN $diseases
RETURN d.id AS disease, g.id AS id, g.name AS name, r.association AS association, r.source AS source
ORDER BY disease, id, source, association
