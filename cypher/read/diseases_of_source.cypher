// purpose: All diseases that a source describes, with their names.
// params: source: string
// columns: id, name, name_zh, synonyms
MATCH (d:Disease) WHERE d.source = $source
RETURN d.id AS id, d.name AS name, d.name_zh AS name_zh, coalesce(d.synonyms, []) AS synonyms
ORDER BY id
