// All that has certain words in its names, English or Chinese, the best first
WITH 'seizures' AS words
CALL {
  WITH words
  CALL db.index.fulltext.queryNodes('kgdx_names_english', words) YIELD node, score
  RETURN node, score
  UNION
  WITH words
  CALL db.index.fulltext.queryNodes('kgdx_names_chinese', words) YIELD node, score
  RETURN node, score
}
WITH node, max(score) AS score ORDER BY score DESC LIMIT 30
MATCH path = (node)
RETURN path
