// purpose: How many edges of one type a source stated.
// params: source: string
// columns: n
MATCH ()-[r:<type>]->() WHERE r.source = $source RETURN count(r) AS n
