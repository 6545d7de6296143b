"""Answers and diagnoses: evidence, sentences and their marks, and the results that users hold."""
