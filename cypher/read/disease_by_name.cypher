// purpose: Diseases of exactly this name.
// params: name: string
// columns: id, name, source
MATCH (d:Disease {name: $name})
RETURN d.id AS id, d.name AS name, d.source AS source
ORDER BY id
