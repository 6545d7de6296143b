// purpose: Titles of publications; ids that are not there give no row.
// params: publications: strings
// columns: id, title
MATCH (p:Publication) WHERE p.id IN $publications
RETURN p.id AS id, p.title AS title
ORDER BY id
