// purpose: Remove edges of one type by their ends and the properties that identify them, and say how many there were.
// params: rows: maps with `start`, `end`, `identity` (a map) and `n` (how many such edges go), names: strings, those of the identifying properties
// columns: n
UNWIND $rows AS row
MATCH (a:<start> {id: row.start})
MATCH (b:<end> {id: row.end})
MATCH (a)-[r:<type>]->(b)
WHERE all(name IN $names WHERE r[name] = row.identity[name] OR (r[name] IS NULL AND row.identity[name] IS NULL))
WITH row, collect(r)[0..row.n] AS edges
UNWIND edges AS r
DELETE r
RETURN count(r) AS n
