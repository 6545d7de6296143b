// purpose: Environmental exposures that are linked to diseases.
// params: diseases: strings
// columns: disease, id, name, display_relation, source
MATCH (d:Disease)<-[r:EXPOSURE_DISEASE]-(x:Exposure) WHERE d.id IN $diseases
RETURN d.id AS disease, x.id AS id, x.name AS name, r.display_relation AS display_relation, r.source AS source
ORDER BY disease, id, source, display_relation
