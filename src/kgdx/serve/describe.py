"""Prints the API's OpenAPI description, as the documentation keeps it: ``python -m kgdx.serve.describe``."""

from __future__ import annotations

import json
from typing import Any

from kgdx.serve.app import create_app
from kgdx.serve.options import Options
from kgdx.serve.pool import Pool


def description() -> dict[str, Any]:
    """Return the description of the API, which is the same whatever the server's options are.

    Example:
        >>> description()["info"]["title"]
        'kgdx'
    """
    pool = Pool({}, 1, 1, print)
    return create_app(Options(), pool, pool).openapi()


if __name__ == "__main__":
    print(json.dumps(description(), indent=1, ensure_ascii=False))
