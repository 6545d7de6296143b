// purpose: Remove some of the nodes of one class that a source stated and no edge touches, and say how many.
// params: source: string, limit: integer
// columns: n
MATCH (n:<label>) WHERE n.source = $source AND NOT EXISTS { MATCH (n)--() } WITH n LIMIT $limit DELETE n RETURN count(n) AS n
