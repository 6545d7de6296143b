// purpose: What the graph was built from: the one Build node.
// columns: id, fingerprint, schema_version, schema_checksum, kgdx_version, created
MATCH (b:Build)
RETURN b.id AS id, b.fingerprint AS fingerprint, b.schema_version AS schema_version,
       b.schema_checksum AS schema_checksum, b.kgdx_version AS kgdx_version, b.created AS created
ORDER BY id
