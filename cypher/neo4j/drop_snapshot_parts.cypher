// purpose: Remove parts that belong to no stored snapshot: all of them, or those of one that was never finished.
// params: id: string or null
OPTIONAL MATCH (s:KgdxSnapshot)
WITH collect(s.id) AS whole
MATCH (p:KgdxSnapshotPart)
WHERE NOT p.snapshot IN whole AND p.snapshot = coalesce($id, p.snapshot)
DELETE p
