// purpose: Make edges of one type between nodes that are there; fewer than rows means that an end is not.
// params: rows: maps with `start`, `end` and `properties`
// columns: n
UNWIND $rows AS row
MATCH (a:<start> {id: row.start})
MATCH (b:<end> {id: row.end})
CREATE (a)-[r:<type>]->(b) SET r = row.properties
RETURN count(r) AS n
