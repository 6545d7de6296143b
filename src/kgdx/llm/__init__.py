"""Language models behind any endpoint that speaks OpenAI's protocol: asked, retried, cached, recorded, counted."""
