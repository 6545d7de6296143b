// purpose: Which labels the relations of a type join, by a sample.
// columns: start, end, n
MATCH (a)-[r:<type>]->(b)
WITH a, b LIMIT 2000
RETURN head(labels(a)) AS start, head(labels(b)) AS end, count(*) AS n
ORDER BY n DESC, start, end
