// purpose: The stored snapshots of one layout: at most one, but for a moment.
// params: layout: string
// columns: document, checksum
MATCH (s:KgdxSnapshot {layout: $layout})
RETURN s.document AS document, s.checksum AS checksum
ORDER BY s.serial - s.saves DESC
