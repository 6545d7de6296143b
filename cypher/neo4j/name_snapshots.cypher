// purpose: Make the labels and properties of stored snapshots known, for which the first write of each would take a transaction of its own, as somebody's edit does.
// params: labels: strings, names: strings
UNWIND $labels AS label
CALL db.createLabel(label)
WITH count(*) AS made
UNWIND $names AS name
CALL db.createProperty(name)
