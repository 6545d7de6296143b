// purpose: Make the names of relation types known, for which the first write of each would take a transaction.
// params: names: strings
UNWIND $names AS name
CALL db.createRelationshipType(name)
