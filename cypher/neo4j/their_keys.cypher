// purpose: The names of all properties of a database, whatever it holds.
// columns: name
CALL db.propertyKeys() YIELD propertyKey
RETURN propertyKey AS name ORDER BY name
