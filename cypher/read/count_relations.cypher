// purpose: How many edges of each type there are.
// columns: name, n
MATCH ()-[r]->()
RETURN type(r) AS name, count(*) AS n
ORDER BY name
