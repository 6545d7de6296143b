// purpose: Give nodes of one class other properties (those that a row lacks are removed), and say how many are there. Both stores run it.
// params: rows: maps of properties, each with `id`
// columns: n
UNWIND $rows AS row MATCH (n:<label> {id: row.id}) SET n = row RETURN count(n) AS n
