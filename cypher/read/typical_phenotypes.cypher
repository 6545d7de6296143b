// purpose: What diseases typically present with: their most frequent phenotypes of aspect P, at most `limit` of each.
//     `share` (0 to 1) is the highest that a source states: n of m, a percentage, or the middle of an HPO frequency class;
//     null where none states any, which stands where a share of 0.45 would.
// params: diseases: strings, limit: integer
// columns: disease, disease_name, id, name, share, total
MATCH (d:Disease)-[h:HAS_PHENOTYPE]->(p:Phenotype) WHERE d.id IN $diseases
WITH d, p, h.share AS share, coalesce(h.aspect, 'P') AS aspect WHERE aspect = 'P'
WITH d.id AS disease, d.name AS disease_name, p.id AS id, p.name AS name, max(share) AS share
WITH disease, disease_name, id, name, share, coalesce(share, 0.45) AS place
ORDER BY disease, place DESC, id
WITH disease, disease_name, collect({id: id, name: name, share: share, place: place}) AS rows
WITH disease, disease_name, size(rows) AS total, rows[0..$limit] AS rows
UNWIND rows AS row
WITH disease, disease_name, row.id AS id, row.name AS name, row.share AS share, row.place AS place, total
ORDER BY disease, place DESC, id
RETURN disease, disease_name, id, name, share, total
