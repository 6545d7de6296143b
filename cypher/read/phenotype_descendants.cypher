// purpose: All phenotypes below the given ones, each itself included, with the smallest number of IS_A steps.
// params: phenotypes: strings
// columns: phenotype, id, name, steps
MATCH path = (p:Phenotype)<-[:IS_A*0..20]-(c:Phenotype) WHERE p.id IN $phenotypes
RETURN p.id AS phenotype, c.id AS id, c.name AS name, min(length(path)) AS steps
ORDER BY phenotype, steps, id
