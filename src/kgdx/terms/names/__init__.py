"""Names of the graph's entities: what each means, and which of them a text mentions."""
