// purpose: The parts of a stored snapshot, in no particular order.
// params: id: string
// columns: file, at, size, bytes
MATCH (p:KgdxSnapshotPart {snapshot: $id})
RETURN p.file AS file, p.at AS at, p.size AS size, p.bytes AS bytes
