// purpose: Diseases whose name, English or Chinese, contains a text, in any case; the shortest names first.
// params: text: string, limit: integer
// columns: id, name, name_zh, source
MATCH (d:Disease)
WHERE toLower(d.name) CONTAINS toLower($text) OR toLower(coalesce(d.name_zh, '')) CONTAINS toLower($text)
RETURN d.id AS id, d.name AS name, d.name_zh AS name_zh, d.source AS source
ORDER BY size(d.name), id LIMIT $limit
