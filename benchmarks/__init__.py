"""Commands that print the figures of docs/benchmarks.md, and the scripted models that tests share with them."""
