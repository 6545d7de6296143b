// purpose: The phenotypes that symptoms are exactly the same as, in English and Chinese.
// params: symptoms: strings
// columns: symptom, id, name, name_zh
MATCH (s:Symptom)-[r:MAPPED_TO]->(p:Phenotype) WHERE s.id IN $symptoms AND r.relation = 'exact'
RETURN DISTINCT s.id AS symptom, p.id AS id, p.name AS name, p.name_zh AS name_zh
ORDER BY symptom, id
