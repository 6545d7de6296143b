// purpose: How many ids several nodes of a class share, and one of them.
// columns: n, example
MATCH (n:<label>)
WITH n.id AS id, count(*) AS nodes WHERE nodes > 1
RETURN count(*) AS n, min(toStringOrNull(id)) AS example
