// purpose: What an answer rests on: relations between its diseases and the other things that its evidence names.
// params: diseases: strings, things: strings, relations: strings
// columns: path
MATCH path = (d:Disease)-[stated]-(thing)
WHERE d.id IN $diseases AND thing.id IN $things AND type(stated) IN $relations
RETURN path
UNION
MATCH path = (d:Disease)-[:SAME_AS|MAPPED_TO]->(other) WHERE d.id IN $diseases AND other.id IN $things
RETURN path
