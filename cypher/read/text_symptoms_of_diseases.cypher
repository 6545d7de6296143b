// purpose: Phenotypes that texts about diseases name, with the document, the passage and how it was matched.
// params: diseases: strings
// columns: disease, id, name, name_zh, reference, span, matched, method, score, model, source
MATCH (d:Disease)-[r:HAS_SYMPTOM]->(p:Phenotype) WHERE d.id IN $diseases
RETURN d.id AS disease, p.id AS id, p.name AS name, p.name_zh AS name_zh,
       reduce(cited = head(r.references), one IN tail(r.references) | cited + ';' + one) AS reference, r.span AS span,
       r.matched AS matched, r.method AS method, r.score AS score, r.model AS model, r.source AS source
ORDER BY disease, id, source, reference
