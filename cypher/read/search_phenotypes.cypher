// purpose: Phenotypes in use whose name contains a text, in any case; the shortest names first.
// params: text: string, limit: integer
// columns: id, name
MATCH (p:Phenotype) WHERE toLower(p.name) CONTAINS toLower($text) AND coalesce(p.obsolete, false) = false
RETURN p.id AS id, p.name AS name
ORDER BY size(p.name), id LIMIT $limit
