// purpose: Make the same names quick to find by their words.
CREATE FULLTEXT INDEX kgdx_vector_words IF NOT EXISTS FOR (v:KgdxVector) ON EACH [v.text]
