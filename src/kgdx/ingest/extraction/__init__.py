"""Relations and findings read from text, by rules or by a language model, page by page."""
