// purpose: How many edges of one type there are between two classes by source, and how many values their properties have.
// params: columns: strings
// columns: source, n, present
MATCH (:<start>)-[r:<type>]->(:<end>)
RETURN r.source AS source, count(r) AS n, sum(size([c IN $columns WHERE r[c] IS NOT NULL])) AS present
