// purpose: Whether the database holds no node at all.
// columns: empty
RETURN NOT EXISTS { MATCH (n) } AS empty
