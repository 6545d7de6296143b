"""Lets ``python -m kgdx`` run the command line."""

from __future__ import annotations

from kgdx.cli import main

if __name__ == "__main__":
    main()
