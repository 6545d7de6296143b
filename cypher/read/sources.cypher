// purpose: What was loaded, with version, checksum and the numbers that must add up.
// columns: id, version, checksum, licence, citation, read, loaded, merged, quarantined
MATCH (s:Source)
RETURN s.id AS id, s.version AS version, s.checksum AS checksum, s.licence AS licence, s.citation AS citation,
       s.read AS read, s.loaded AS loaded, s.merged AS merged, s.quarantined AS quarantined
ORDER BY id
