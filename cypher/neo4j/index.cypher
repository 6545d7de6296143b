// purpose: Make the nodes of a class quick to find by a property.
CREATE INDEX kgdx_<label>_<property> IF NOT EXISTS FOR (n:<label>) ON (n.<property>)
