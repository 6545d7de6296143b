// purpose: Take back the Chinese names that a source gave to diseases, when that source is removed.
// params: source: string
// columns: n
MATCH (d:Disease) WHERE d.name_zh_source = $source
SET d.name_zh = null, d.name_zh_source = null
RETURN count(d) AS n
