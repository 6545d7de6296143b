// Symptoms, tests, drugs, treatments, genes and complications of a disease
WITH 'Marfan syndrome' AS name
MATCH path = (d:Disease)-[:HAS_SYMPTOM|RECOMMEND_TEST|RECOMMEND_DRUG|RECOMMEND_CURE|HAS_COMORBIDITY|ASSOCIATED_GENE|DISEASE_PROTEIN|INDICATION|OFF_LABEL_USE|CONTRAINDICATION]-()
WHERE d.name = name OR d.name_zh = name
RETURN path LIMIT 80
