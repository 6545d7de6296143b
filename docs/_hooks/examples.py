"""Lets the API pages show doctests as code: what the project heads ``Example:`` is griffe's section ``Examples:``."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Examples(griffe.Extension):
    """An extension of griffe, which reads the docstrings."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rename the heading when an object has been read."""
        if obj.docstring:
            obj.docstring.value = re.sub(r"^( *)Example:$", r"\1Examples:", obj.docstring.value, flags=re.MULTILINE)
