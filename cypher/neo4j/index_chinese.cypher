// purpose: Make all that has a name quick to find by Chinese characters.
CREATE FULLTEXT INDEX kgdx_names_chinese IF NOT EXISTS FOR (n:<labels>) ON EACH [n.name, n.name_zh, n.synonyms, n.entry_terms]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'cjk'}}
