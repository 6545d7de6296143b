// purpose: How many nodes of each class there are.
// columns: name, n
MATCH (n)
RETURN head(labels(n)) AS name, count(*) AS n
ORDER BY name
