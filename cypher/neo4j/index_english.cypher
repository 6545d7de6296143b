// purpose: Make all that has a name quick to find by words, in any form of theirs.
CREATE FULLTEXT INDEX kgdx_names_english IF NOT EXISTS FOR (n:<labels>) ON EACH [n.name, n.synonyms, n.entry_terms]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english'}}
