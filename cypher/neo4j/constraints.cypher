// purpose: Names of the constraints that kgdx made; any at all shows that the database was set up by kgdx.
// columns: name
SHOW CONSTRAINTS YIELD name WHERE name STARTS WITH 'kgdx_' RETURN name ORDER BY name
