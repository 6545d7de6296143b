// purpose: What the graph states around a node whose name was found; follows a search for `node` and its `score`.
CALL {
  WITH node
  MATCH (n:Disease|Phenotype|Symptom|Document {id: node.node})
  RETURN n
}
CALL {
  WITH n
  OPTIONAL MATCH (n)-[r]-(m:Disease|Phenotype|Symptom|Gene|Drug|Test|Cure)
  WITH n, r, m ORDER BY coalesce(r.share, r.score, 0) DESC, m.name LIMIT 20
  WITH CASE WHEN startNode(r) = n THEN [n, m] ELSE [m, n] END AS ends, r
  RETURN collect(ends[0].name + ' ' + type(r) + ' ' + ends[1].name + ' [' + coalesce(r.source, '') + ']') AS statements
}
RETURN n.id AS id, coalesce(n.name, n.title) AS name, statements, score
