"""Terminal tables and plain-text explanations, made from results and knowing nothing of stores."""
