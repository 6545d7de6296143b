// purpose: Remove all vectors of names.
MATCH (v:KgdxVector) DELETE v
