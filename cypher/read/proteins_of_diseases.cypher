// purpose: Genes whose products PrimeKG links with diseases.
// params: diseases: strings
// columns: disease, id, name, display_relation, source
MATCH (d:Disease)-[r:DISEASE_PROTEIN]->(g:Gene) WHERE d.id IN $diseases
RETURN d.id AS disease, g.id AS id, g.name AS name, r.display_relation AS display_relation, r.source AS source
ORDER BY disease, id, source, display_relation
