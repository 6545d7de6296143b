// purpose: Ids and names of all nodes of a class: what an index of names is made from.
// columns: id, name, name_zh, synonyms
MATCH (n:<label>)
RETURN n.id AS id, n.name AS name, n.name_zh AS name_zh, n.synonyms AS synonyms
ORDER BY id
