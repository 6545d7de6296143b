// Diseases with a phenotype, or with a kind of it
WITH 'Ectopia lentis' AS name
MATCH path = (p:Phenotype)<-[:IS_A*0..20]-(:Phenotype)<-[:HAS_PHENOTYPE]-(:Disease) WHERE p.name = name
RETURN path LIMIT 60
