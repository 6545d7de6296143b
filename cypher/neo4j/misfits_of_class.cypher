// purpose: What nodes of a class have that the ontology does not allow: by property and fault, how many, and one of these.
// params: types: map of lists, required: strings, values: map of lists, ids: string
// columns: what, fault, n, example
MATCH (n:<label>)
WITH n, keys(n) AS names, coalesce(toStringOrNull(n.id), elementId(n)) AS example
UNWIND [name IN names WHERE $types[name] IS NULL | [name, 'undeclared']] +
       [name IN names WHERE NOT valueType(n[name]) IN $types[name] | [name, 'type']] +
       [name IN $required WHERE n[name] IS NULL | [name, 'missing']] +
       [name IN names WHERE any(value IN [] + n[name] WHERE NOT value IN $values[name]) | [name, 'value']] +
       CASE WHEN coalesce(toStringOrNull(n.id) =~ $ids, false) THEN [] ELSE [['id', 'form']] END AS fault
RETURN fault[0] AS what, fault[1] AS fault, count(*) AS n, min(example) AS example
ORDER BY what, fault
