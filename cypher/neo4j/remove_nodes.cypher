// purpose: Remove nodes of one class by id, and say how many there were; one that still has an edge is refused.
// params: ids: strings
// columns: n
MATCH (n:<label>) WHERE n.id IN $ids DELETE n RETURN count(n) AS n
