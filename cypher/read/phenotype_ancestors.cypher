// purpose: All phenotypes above the given ones, each itself included, with the smallest number of IS_A steps.
// params: phenotypes: strings
// columns: phenotype, id, name, steps
MATCH path = (p:Phenotype)-[:IS_A*0..20]->(a:Phenotype) WHERE p.id IN $phenotypes
RETURN p.id AS phenotype, a.id AS id, a.name AS name, min(length(path)) AS steps
ORDER BY phenotype, steps, id
