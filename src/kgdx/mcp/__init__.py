"""The graph as tools and resources of the Model Context Protocol, for assistants that people already use."""
