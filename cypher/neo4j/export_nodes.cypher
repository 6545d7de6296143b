// purpose: All nodes of one class, column by column, a few hundred in one row: few large rows travel faster than one for each node.
// params: columns: strings
// columns: ids, values
MATCH (n:<label>)
WITH collect(n) AS nodes
UNWIND range(0, size(nodes) - 1, 500) AS at
WITH nodes[at..at + 500] AS part
RETURN [n IN part | n.id] AS ids, [c IN $columns | [n IN part | n[c]]] AS values
