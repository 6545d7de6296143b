// purpose: Write vectors of names.
// params: rows: maps with label, id, text and embedding
UNWIND $rows AS row
CREATE (v:KgdxVector {label: row.label, node: row.id, text: row.text})
WITH v, row
CALL db.create.setNodeVectorProperty(v, 'embedding', row.embedding)
