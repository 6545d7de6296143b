// purpose: The labels of a database, whatever it holds.
// columns: name
CALL db.labels() YIELD label
RETURN label AS name ORDER BY name
