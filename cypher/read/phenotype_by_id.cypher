// purpose: One phenotype, obsolete ones too.
// params: phenotype: string
// columns: id, name, name_zh, definition, synonyms, alt_ids, obsolete, replaced_by, consider
MATCH (p:Phenotype {id: $phenotype})
RETURN p.id AS id, p.name AS name, p.name_zh AS name_zh, p.definition AS definition,
       coalesce(p.synonyms, []) AS synonyms, coalesce(p.alt_ids, []) AS alt_ids,
       coalesce(p.obsolete, false) AS obsolete, p.replaced_by AS replaced_by, coalesce(p.consider, []) AS consider
