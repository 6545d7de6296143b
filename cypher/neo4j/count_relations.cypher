// purpose: How many edges of one type there are (from the count store).
// columns: n
MATCH ()-[r:<type>]->() RETURN count(r) AS n
