// purpose: Which labels nodes have together, how many have them, and one of these.
// columns: labels, n, example
MATCH (n)
RETURN labels(n) AS labels, count(*) AS n, min(coalesce(toStringOrNull(n.id), elementId(n))) AS example
ORDER BY labels
