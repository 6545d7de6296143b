// purpose: Make diseases and phenotypes quick to find by a part of a word of their names.
CREATE FULLTEXT INDEX kgdx_words IF NOT EXISTS FOR (n:Disease|Phenotype) ON EACH [n.name, n.name_zh]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'standard-no-stop-words'}}
