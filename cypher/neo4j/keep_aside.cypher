// purpose: Keep what users saved beside the graph, in the place of what was kept before.
// params: documents: strings
// columns: n
OPTIONAL MATCH (s:KgdxSaved)
WITH collect(s) AS old
FOREACH (s IN old | DELETE s)
WITH count(*) AS one
UNWIND $documents AS document
CREATE (s:KgdxSaved {document: document})
RETURN count(s) AS n
