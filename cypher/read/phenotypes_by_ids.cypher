// purpose: Names of phenotypes; ids that are not there give no row.
// params: phenotypes: strings
// columns: id, name, name_zh
MATCH (p:Phenotype) WHERE p.id IN $phenotypes
RETURN p.id AS id, p.name AS name, p.name_zh AS name_zh
ORDER BY id
