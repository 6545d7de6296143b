"""Relations read from question–answer text, by rules or by a language model, page by page."""
