// What a disease presents with
WITH 'Marfan syndrome' AS name
MATCH path = (d:Disease)-[:HAS_PHENOTYPE]->(:Phenotype) WHERE d.name = name
RETURN path LIMIT 60
