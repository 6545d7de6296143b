// purpose: Make a stored snapshot whole, as long as its graph and all its parts are there.
// params: fingerprint: string, parts: integer, id: string, layout: string, document: string, checksum: string, serial: integer, saves: integer
// columns: n
MATCH (b:Build {id: 'build:current', fingerprint: $fingerprint})
OPTIONAL MATCH (p:KgdxSnapshotPart {snapshot: $id})
WITH b, count(p) AS there
WHERE there = $parts
CREATE (s:KgdxSnapshot {id: $id, layout: $layout, document: $document, checksum: $checksum, serial: $serial, saves: $saves})
RETURN count(s) AS n
