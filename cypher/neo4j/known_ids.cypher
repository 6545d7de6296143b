// purpose: Which of the ids are nodes of a class.
// params: ids: strings
// columns: id
MATCH (n:<label>) WHERE n.id IN $ids RETURN n.id AS id
