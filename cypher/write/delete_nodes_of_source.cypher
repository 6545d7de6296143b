// purpose: Remove the nodes that one source stated and no edge touches any more, and say how many of each class.
// params: source: string
// columns: name, n
MATCH (x) WHERE x.source = $source AND NOT EXISTS { MATCH (x)--() }
WITH head(labels(x)) AS name, collect(x) AS xs
FOREACH (x IN xs | DELETE x)
RETURN name, size(xs) AS n
