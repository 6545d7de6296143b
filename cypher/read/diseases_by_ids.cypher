// purpose: Names of diseases; ids that are not there give no row.
// params: diseases: strings
// columns: id, name, name_zh, source
MATCH (d:Disease) WHERE d.id IN $diseases
RETURN d.id AS id, d.name AS name, d.name_zh AS name_zh, d.source AS source
ORDER BY id
