"""Everything on the way from a file to the graph: source → table → checked → bulk load."""
