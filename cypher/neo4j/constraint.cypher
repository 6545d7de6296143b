// purpose: Make `id` the key of a class.
CREATE CONSTRAINT kgdx_<label>_id IF NOT EXISTS FOR (n:<label>) REQUIRE n.id IS UNIQUE
