// purpose: Tests that are recommended for diseases.
// params: diseases: strings
// columns: disease, id, name, language, score, reference, source
MATCH (d:Disease)-[r:RECOMMEND_TEST]->(x:Test) WHERE d.id IN $diseases
RETURN d.id AS disease, x.id AS id, x.name AS name, x.language AS language, r.score AS score,
       r.reference AS reference, r.source AS source
ORDER BY disease, id, source
