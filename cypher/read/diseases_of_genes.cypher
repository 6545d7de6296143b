// purpose: Diseases that genes, given by symbol, are associated with.
// params: symbols: strings
// columns: gene, id, name, association, source
MATCH (g:Gene)<-[r:ASSOCIATED_GENE]-(d:Disease) WHERE g.name IN $symbols
RETURN g.name AS gene, d.id AS id, d.name AS name, r.association AS association, r.source AS source
ORDER BY gene, id, source, association
