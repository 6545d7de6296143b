// purpose: What is known around one disease: relation types and classes at the other end, with counts.
// params: disease: string
// columns: relation, label, n
MATCH (d:Disease {id: $disease})-[r]-(x)
RETURN type(r) AS relation, head(labels(x)) AS label, count(*) AS n
ORDER BY relation, label
