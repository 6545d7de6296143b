// purpose: Which properties the nodes of a label have, of what type, how many of a sample have one, and how many differ.
// columns: name, type, n, distinct
MATCH (n:<label>)
WITH n LIMIT 2000
UNWIND keys(n) AS name
RETURN name, head(collect(DISTINCT valueType(n[name]))) AS type, count(*) AS n, count(DISTINCT n[name]) AS distinct
ORDER BY n DESC, name
