// purpose: Phenotypes in use whose name, English or Chinese, contains a text, in any case; the shortest names first.
//     Full-text indexes find the nodes that have its words within theirs, or its Chinese characters in a row; where
//     the text is of another kind, all are read. What they find is compared with the text itself.
// params: text: string, limit: integer
// columns: id, name, name_zh
WITH [word IN split($text, ' ') WHERE word <> ''] AS words, size($text) <= 200 AS short
WITH short AND $text =~ '[a-zA-Z0-9 ]*[a-zA-Z0-9]{3}[a-zA-Z0-9 ]*' AS latin, short AND $text =~ '[一-鿿]{2,}' AS chinese,
     reduce(query = '', word IN words | query + ' +*' + word + '*') AS within
CALL {
  WITH latin, within
  UNWIND CASE WHEN latin THEN [within] ELSE [] END AS query
  CALL db.index.fulltext.queryNodes('kgdx_words', query) YIELD node
  RETURN node
  UNION ALL
  WITH chinese
  UNWIND CASE WHEN chinese THEN ['"' + $text + '"'] ELSE [] END AS query
  CALL db.index.fulltext.queryNodes('kgdx_names_chinese', query) YIELD node
  RETURN node
  UNION ALL
  WITH latin, chinese
  UNWIND CASE WHEN latin OR chinese THEN [] ELSE [1] END AS once
  MATCH (node:Phenotype)
  RETURN node
}
WITH node AS p WHERE p:Phenotype
  AND (toLower(p.name) CONTAINS toLower($text) OR toLower(coalesce(p.name_zh, '')) CONTAINS toLower($text))
  AND coalesce(p.obsolete, false) = false
RETURN p.id AS id, p.name AS name, p.name_zh AS name_zh
ORDER BY size(p.name), id LIMIT $limit
