// What a publication is cited for
WITH 'PMID:20301510' AS publication
MATCH path = (:Disease)-[stated:HAS_PHENOTYPE]->(:Phenotype) WHERE stated.reference = publication
RETURN path LIMIT 80
