// purpose: Remove the Build node: the graph counts as incomplete until there is one again.
MATCH (b:Build) DELETE b
