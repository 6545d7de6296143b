// purpose: The names that vectors are made of, and the beginnings of texts.
MATCH (n:Disease|Phenotype|Symptom) WHERE n.name IS NOT NULL AND coalesce(n.obsolete, false) = false
RETURN labels(n)[0] AS label, n.id AS id, n.name AS text
UNION ALL
MATCH (n:Document) WHERE n.title IS NOT NULL
RETURN 'Document' AS label, n.id AS id, n.title AS text
