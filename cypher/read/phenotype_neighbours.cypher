// purpose: The phenotypes one IS_A step above and below one phenotype.
// params: phenotype: string
// columns: direction, id, name
MATCH (p:Phenotype)-[:IS_A]->(x:Phenotype) WHERE p.id = $phenotype
RETURN 'above' AS direction, x.id AS id, x.name AS name
UNION ALL
MATCH (p:Phenotype)<-[:IS_A]-(x:Phenotype) WHERE p.id = $phenotype
RETURN 'below' AS direction, x.id AS id, x.name AS name
