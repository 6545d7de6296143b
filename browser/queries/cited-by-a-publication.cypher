// What a publication is cited for
WITH 'PMID:20301510' AS publication
MATCH path = (:Disease)-[stated]->() WHERE publication IN stated.references
RETURN path LIMIT 80
