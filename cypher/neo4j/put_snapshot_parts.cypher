// purpose: Store some parts of a snapshot, as long as its graph is there.
// params: fingerprint: string, parts: maps with snapshot, file, at, size and bytes
// columns: n
MATCH (b:Build {id: 'build:current', fingerprint: $fingerprint})
UNWIND $parts AS part
CREATE (p:KgdxSnapshotPart)
SET p = part
RETURN count(p) AS n
