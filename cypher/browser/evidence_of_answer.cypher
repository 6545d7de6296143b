// purpose: What an answer rests on: how its diseases are related to what its evidence names, and to each other.
// params: diseases: strings, things: strings
// columns: path
MATCH path = (d:Disease)-[]-(thing) WHERE d.id IN $diseases AND thing.id IN $things
RETURN path
