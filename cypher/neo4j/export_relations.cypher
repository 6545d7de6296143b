// purpose: All edges of one type between two classes with some of their properties, in the order of `columns`.
// params: columns: strings
// columns: start, end, properties
MATCH (a:<start>)-[r:<type>]->(b:<end>) RETURN a.id AS start, b.id AS end, [c IN $columns | r[c]] AS properties
