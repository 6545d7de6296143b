"""Measuring: how often ranking is right, and how well findings are read from text."""
