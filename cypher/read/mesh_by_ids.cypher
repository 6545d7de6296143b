// purpose: MeSH headings by id; ids that are not there give no row.
// params: descriptors: strings
// columns: id, heading, scope_note, tree_numbers
MATCH (m:MeshDescriptor) WHERE m.id IN $descriptors
RETURN m.id AS id, m.name AS heading, m.scope_note AS scope_note, coalesce(m.tree_numbers, []) AS tree_numbers
ORDER BY id
