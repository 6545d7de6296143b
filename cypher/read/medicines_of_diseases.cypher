// purpose: Drugs that are indicated for diseases, used off label, or contraindicated.
// params: diseases: strings
// columns: disease, relation, id, name, source
MATCH (d:Disease)<-[r:INDICATION|OFF_LABEL_USE|CONTRAINDICATION]-(x:Drug) WHERE d.id IN $diseases
RETURN d.id AS disease, type(r) AS relation, x.id AS id, x.name AS name, r.source AS source
ORDER BY disease, relation, id, source
