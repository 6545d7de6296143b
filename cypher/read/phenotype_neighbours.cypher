// purpose: The phenotypes one IS_A step above and below one phenotype.
// params: phenotype: string
// columns: direction, id, name
MATCH (p:Phenotype)-[r:IS_A]-(x:Phenotype) WHERE p.id = $phenotype
WITH DISTINCT CASE WHEN startNode(r) = p THEN 'above' ELSE 'below' END AS direction, x.id AS id, x.name AS name
RETURN direction, id, name
ORDER BY direction, id
