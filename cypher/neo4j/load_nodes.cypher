// purpose: Make nodes of one class.
// params: rows: maps of properties, each with `id`
// columns: n
UNWIND $rows AS row CREATE (n:<label>) SET n = row RETURN count(n) AS n
