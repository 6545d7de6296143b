"""The pipeline of a build: stages kept by content, from parsed sources to a loaded graph."""
