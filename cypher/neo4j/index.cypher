// purpose: Make the nodes of a class quick to find by name.
CREATE INDEX kgdx_<label>_name IF NOT EXISTS FOR (n:<label>) ON (n.name)
