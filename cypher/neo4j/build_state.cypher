// purpose: What the Build node says the graph holds, and how many saves have been counted since.
// columns: fingerprint, content, saves
MATCH (b:Build)
RETURN b.fingerprint AS fingerprint, b.content AS content, coalesce(b.saves, 0) AS saves
