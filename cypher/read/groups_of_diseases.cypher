// purpose: Groups that a source put diseases into.
// params: diseases: strings
// columns: disease, id, name, source
MATCH (d:Disease)<-[r:HAS_MEMBER]-(g:Disease) WHERE d.id IN $diseases
RETURN d.id AS disease, g.id AS id, g.name AS name, r.source AS source
ORDER BY disease, id, source
