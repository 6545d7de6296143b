"""Where the graph lives: one protocol, two stores, the templates that run on both, and the compiled snapshot."""
