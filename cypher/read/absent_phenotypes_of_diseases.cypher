// purpose: Phenotypes that diseases are annotated not to have.
// action: get_absent of Phenotype: Findings (HPO) that diseases are recorded not to have.
// params: diseases: strings
// columns: disease, id, name, frequency, evidence, reference, source
MATCH (d:Disease)-[r:LACKS_PHENOTYPE]->(p:Phenotype) WHERE d.id IN $diseases
RETURN d.id AS disease, p.id AS id, p.name AS name, r.frequency AS frequency, r.evidence AS evidence,
       reduce(cited = head(r.references), one IN tail(r.references) | cited + ';' + one) AS reference,
       r.source AS source
ORDER BY disease, id, source, reference, frequency
