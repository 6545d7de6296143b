// purpose: Remove the edges that one source stated, and say how many of each type.
// params: source: string
// columns: name, n
MATCH ()-[r]->() WHERE r.source = $source
WITH type(r) AS name, collect(r) AS rs
FOREACH (r IN rs | DELETE r)
RETURN name, size(rs) AS n
