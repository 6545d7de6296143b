// purpose: Ask for a property of all edges of a type (Enterprise Edition).
CREATE CONSTRAINT kgdx_<type>_<property>_required IF NOT EXISTS FOR ()-[r:<type>]-() REQUIRE r.<property> IS NOT NULL
