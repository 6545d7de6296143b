// purpose: Say what was loaded: one node for each source, made or updated.
// params: rows: rows
// row: id: string, version: string?, checksum: string?, licence: string?, citation: string?, read: integer?,
//     loaded: integer?, merged: integer?, quarantined: integer?
// columns: id
UNWIND $rows AS row
MERGE (s:Source {id: row.id})
SET s.source = row.id, s.version = row.version, s.checksum = row.checksum, s.licence = row.licence,
    s.citation = row.citation, s.read = row.read, s.loaded = row.loaded, s.merged = row.merged,
    s.quarantined = row.quarantined
RETURN s.id AS id
