"""Derive steps that state which entries of two sources are the same, and people's decisions about it."""
