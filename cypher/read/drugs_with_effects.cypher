// purpose: Drugs of which phenotypes are a side effect.
// params: phenotypes: strings
// columns: phenotype, id, name, source
MATCH (p:Phenotype)<-[r:DRUG_EFFECT]-(x:Drug) WHERE p.id IN $phenotypes
RETURN p.id AS phenotype, x.id AS id, x.name AS name, r.source AS source
ORDER BY phenotype, id, source
