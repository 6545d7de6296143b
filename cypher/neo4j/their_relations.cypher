// purpose: How many relations of a type there are.
// columns: n
MATCH ()-[r:<type>]->()
RETURN count(r) AS n
