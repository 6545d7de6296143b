// purpose: Which types edges have, how many, and one of these.
// columns: type, n, example
MATCH (a)-[r]->(b)
RETURN type(r) AS type, count(*) AS n,
       min(coalesce(toStringOrNull(a.id), elementId(a)) + ' → ' + coalesce(toStringOrNull(b.id), elementId(b))) AS example
ORDER BY type
