// purpose: What edges of a type have that the ontology does not allow: by property or ends and fault, how many, and one of these.
// params: types: map of lists, required: strings, values: map of lists, ends: lists, irreflexive: boolean
// columns: what, fault, n, example
MATCH (a)-[r:<type>]->(b)
WITH r, labels(a) AS starts, labels(b) AS stops, keys(r) AS names, a = b AS loop,
     coalesce(toStringOrNull(a.id), elementId(a)) + ' → ' + coalesce(toStringOrNull(b.id), elementId(b)) AS example
UNWIND [name IN names WHERE $types[name] IS NULL | [name, 'undeclared']] +
       [name IN names WHERE NOT valueType(r[name]) IN $types[name] | [name, 'type']] +
       [name IN $required WHERE r[name] IS NULL | [name, 'missing']] +
       [name IN names WHERE any(value IN [] + r[name] WHERE NOT value IN $values[name]) | [name, 'value']] +
       CASE WHEN any(pair IN $ends WHERE pair[0] IN starts AND pair[1] IN stops) THEN []
            ELSE [[coalesce(head(starts), 'a node without a class') + ' to ' +
                   coalesce(head(stops), 'a node without a class'), 'ends']] END +
       CASE WHEN loop AND $irreflexive THEN [['', 'loop']] ELSE [] END AS fault
RETURN fault[0] AS what, fault[1] AS fault, count(*) AS n, min(example) AS example
ORDER BY what, fault
