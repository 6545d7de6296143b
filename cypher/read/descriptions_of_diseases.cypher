// purpose: What the sources say of diseases in words, with all their names; ids that are not there give no row.
// params: diseases: strings
// columns: id, name, name_zh, synonyms, text, source
MATCH (d:Disease) WHERE d.id IN $diseases
RETURN d.id AS id, d.name AS name, d.name_zh AS name_zh, coalesce(d.synonyms, []) AS synonyms,
       coalesce(d.definition, head(d.orphanet_definition), head(d.umls_description),
                head(d.orphanet_clinical_description)) AS text,
       d.source AS source
ORDER BY id
