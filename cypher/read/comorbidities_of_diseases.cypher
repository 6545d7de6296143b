// purpose: Diseases that occur together with the given ones, whichever of the two states it.
// params: diseases: strings
// columns: disease, id, name, score
MATCH (d:Disease)-[r:HAS_COMORBIDITY]-(x:Disease) WHERE d.id IN $diseases
RETURN d.id AS disease, x.id AS id, x.name AS name, max(r.score) AS score
ORDER BY disease, id
