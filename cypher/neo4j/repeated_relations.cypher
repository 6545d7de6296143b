// purpose: How many edges of a type are stated more than once, and one of them.
// params: identity: strings
// columns: n, example
MATCH (a)-[r:<type>]->(b)
WITH a, b, [name IN $identity | r[name]] AS identity, count(*) AS edges WHERE edges > 1
RETURN count(*) AS n, min(toStringOrNull(a.id) + ' → ' + toStringOrNull(b.id)) AS example
