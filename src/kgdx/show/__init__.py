"""What people look at: terminal tables and plain-text explanations, made from results and knowing nothing of stores."""

from __future__ import annotations
