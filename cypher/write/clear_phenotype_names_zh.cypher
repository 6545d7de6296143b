// purpose: Take back the Chinese names that a source gave to phenotypes, when that source is removed.
// params: source: string
// columns: n
MATCH (p:Phenotype) WHERE p.name_zh_source = $source
SET p.name_zh = null, p.name_zh_source = null
RETURN count(p) AS n
