// What a publication is cited for
WITH 'PMID:20301510' AS publication
CALL db.index.fulltext.queryRelationships('kgdx_references', '"' + publication + '"') YIELD relationship
MATCH path = (:Disease)-[stated]->() WHERE elementId(stated) = elementId(relationship)
RETURN path LIMIT 80
