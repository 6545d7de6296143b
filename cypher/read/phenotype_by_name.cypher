// purpose: Phenotypes of exactly this name.
// params: name: string
// columns: id, name
MATCH (p:Phenotype {name: $name})
RETURN p.id AS id, p.name AS name
ORDER BY id
