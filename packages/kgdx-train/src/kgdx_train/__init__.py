"""Training of language models on kgdx's graph: GRPO, DPO, pairs of samples, transcripts, rewards."""
