// purpose: The edges of one type from some nodes of a class to another class, column by column, those of one start node in one row.
// params: columns: strings, ids: strings
// columns: start, ends, values
MATCH (a:<start>) WHERE a.id IN $ids
CALL (a) { MATCH (a)-[r:<type>]->(b:<end>) RETURN collect(b.id) AS ends, collect(r) AS edges }
WITH a, ends, edges WHERE size(ends) > 0
RETURN a.id AS start, ends, [c IN $columns | [r IN edges | r[c]]] AS values
