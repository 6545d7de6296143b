// purpose: All nodes of one class with some of their properties, in the order of `columns`.
// params: columns: strings
// columns: id, properties
MATCH (n:<label>) RETURN n.id AS id, [c IN $columns | n[c]] AS properties ORDER BY id
