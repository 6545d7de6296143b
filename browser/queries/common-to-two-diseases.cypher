// What two diseases have in common
WITH 'Marfan syndrome' AS one, 'Loeys-Dietz syndrome 1' AS other
MATCH path = (a:Disease)-[:HAS_PHENOTYPE]->(:Phenotype)<-[:HAS_PHENOTYPE]-(b:Disease)
WHERE a.name = one AND b.name = other
RETURN path LIMIT 60
