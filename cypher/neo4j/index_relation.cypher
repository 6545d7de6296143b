// purpose: Make the relations of a type quick to find by a property.
CREATE INDEX kgdx_<type>_<property> IF NOT EXISTS FOR ()-[r:<type>]-() ON (r.<property>)
