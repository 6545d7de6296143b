// purpose: Phenotypes in use whose name, English or Chinese, contains a text, in any case; the shortest names first.
// params: text: string, limit: integer
// columns: id, name, name_zh
MATCH (p:Phenotype)
WHERE (toLower(p.name) CONTAINS toLower($text) OR toLower(coalesce(p.name_zh, '')) CONTAINS toLower($text))
  AND coalesce(p.obsolete, false) = false
RETURN p.id AS id, p.name AS name, p.name_zh AS name_zh
ORDER BY size(p.name), id LIMIT $limit
