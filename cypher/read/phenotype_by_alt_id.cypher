// purpose: The current phenotype that an alternative id stands for.
// params: alt_id: string
// columns: id, name
MATCH (p:Phenotype) WHERE $alt_id IN p.alt_ids
RETURN p.id AS id, p.name AS name
ORDER BY id
