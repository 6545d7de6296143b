// purpose: All edges of one type between two classes, column by column, those of one start node in one row: few large rows travel several times as fast as one for each edge.
// params: columns: strings
// columns: start, ends, values
MATCH (a:<start>)
CALL (a) { MATCH (a)-[r:<type>]->(b:<end>) RETURN collect(b.id) AS ends, collect(r) AS edges }
WITH a, ends, edges WHERE size(ends) > 0
RETURN a.id AS start, ends, [c IN $columns | [r IN edges | r[c]]] AS values
