// purpose: The relation types of a database, whatever it holds.
// columns: name
CALL db.relationshipTypes() YIELD relationshipType
RETURN relationshipType AS name ORDER BY name
