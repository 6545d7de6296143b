"""Source → table → checked → bulk load: everything on the way from a file to the graph."""
