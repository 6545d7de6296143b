// purpose: Make the names of properties known, for which the first write of each would take a transaction of its own.
// params: names: strings
UNWIND $names AS name
CALL db.createProperty(name)
