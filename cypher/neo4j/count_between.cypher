// purpose: How many edges of a type there are between two classes.
// columns: n
MATCH (a:<start>)-[r:<type>]->(b:<end>)
RETURN count(*) AS n
