"""Words in English and Chinese: text to findings, and names to entries of the graph."""
