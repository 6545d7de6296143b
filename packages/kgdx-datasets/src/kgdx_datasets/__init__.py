"""Readers of published data sets that nothing but evaluations reads."""
