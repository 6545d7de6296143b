// purpose: Say what the graph was built from, in the one Build node; what is left out stays as it is.
// params: fingerprint: string?, schema_version: string?, schema_checksum: string?, kgdx_version: string?,
//     created: string?
// columns: id
MERGE (b:Build {id: 'build:current'})
SET b.source = 'kgdx',
    b.fingerprint = coalesce($fingerprint, b.fingerprint),
    b.schema_version = coalesce($schema_version, b.schema_version),
    b.schema_checksum = coalesce($schema_checksum, b.schema_checksum),
    b.kgdx_version = coalesce($kgdx_version, b.kgdx_version),
    b.created = coalesce($created, b.created)
RETURN b.id AS id
