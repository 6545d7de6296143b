// purpose: What users saved and a copy keeps beside the graph: parts, each a JSON list of nodes and edges.
// columns: document
MATCH (s:KgdxSaved) RETURN s.document AS document
