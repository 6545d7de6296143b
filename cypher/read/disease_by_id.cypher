// purpose: One disease.
// params: disease: string
// columns: id, name, name_zh, definition, synonyms, source
MATCH (d:Disease {id: $disease})
RETURN d.id AS id, d.name AS name, d.name_zh AS name_zh, d.definition AS definition,
       coalesce(d.synonyms, []) AS synonyms, d.source AS source
