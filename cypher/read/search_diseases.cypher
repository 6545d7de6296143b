// purpose: Diseases whose name contains a text, in any case; the shortest names first.
// params: text: string, limit: integer
// columns: id, name, source
MATCH (d:Disease) WHERE toLower(d.name) CONTAINS toLower($text)
RETURN d.id AS id, d.name AS name, d.source AS source
ORDER BY size(d.name), id LIMIT $limit
