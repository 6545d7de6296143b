// purpose: Ends of all edges of a type between two classes, with what the relation is.
// columns: start, end, relation
MATCH (a:<start>)-[r:<type>]->(b:<end>)
RETURN a.id AS start, b.id AS end, r.relation AS relation
ORDER BY start, end
