// purpose: Articles that are about diseases.
// params: diseases: strings
// columns: disease, disease_name, document, title, text, source
MATCH (x:Document)-[r:MENTIONS]->(d:Disease) WHERE d.id IN $diseases
RETURN d.id AS disease, d.name AS disease_name, x.id AS document, x.title AS title, x.text AS text, r.source AS source
ORDER BY disease, document, source
