// purpose: The diseases that diseases are said to bring with them, by what is said of themselves.
// params: diseases: strings
// columns: disease, id
MATCH (d:Disease)-[:HAS_COMORBIDITY]->(x:Disease) WHERE d.id IN $diseases
RETURN DISTINCT d.id AS disease, x.id AS id
ORDER BY disease, id
