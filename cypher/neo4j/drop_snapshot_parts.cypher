// purpose: Remove the parts that belong to no stored snapshot: of one that was replaced, or was never finished.
OPTIONAL MATCH (s:KgdxSnapshot)
WITH collect(s.id) AS whole
MATCH (p:KgdxSnapshotPart)
WHERE NOT p.snapshot IN whole
DELETE p
