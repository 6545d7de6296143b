// purpose: State the digest of what the snapshot of the graph holds.
// params: content: string
MATCH (b:Build {id: 'build:current'})
SET b.content = $content
RETURN b.id AS id
