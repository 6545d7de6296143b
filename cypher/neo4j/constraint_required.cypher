// purpose: Ask for a property of all nodes of a class (Enterprise Edition).
CREATE CONSTRAINT kgdx_<label>_<property>_required IF NOT EXISTS FOR (n:<label>) REQUIRE n.<property> IS NOT NULL
