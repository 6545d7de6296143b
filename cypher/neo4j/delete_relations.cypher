// purpose: Remove some of the edges of one type that a source stated, and say how many.
// params: source: string, limit: integer
// columns: n
MATCH ()-[r:<type>]->() WHERE r.source = $source WITH r LIMIT $limit DELETE r RETURN count(r) AS n
