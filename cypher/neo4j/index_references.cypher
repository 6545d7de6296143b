// purpose: Make quick to find what a publication is cited for.
CREATE FULLTEXT INDEX kgdx_references IF NOT EXISTS FOR ()-[r:<types>]-() ON EACH [r.references]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'keyword'}}
