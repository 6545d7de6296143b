"""``kgdx llm check``: try a language model, and say what its endpoint can do."""

from __future__ import annotations

import time
from typing import Any

import typer

from kgdx.cli import output
from kgdx.cli.options import Json, add_typer, argument


def register(app: typer.Typer) -> None:
    add_typer(app, "llm", "Try a language model.", check)


def check(
    model: str | None = argument(None, "MODEL", "As for --llm; the one that KGDX_LLM_MODEL names when left out."),
    json: Json = False,
) -> None:
    """Ask an endpoint a few short questions, and say what it can do.

    Nothing of a patient or of the graph is sent. What is told: whether it answers, its context window, how strictly it
    can be held to JSON, whether it counts tokens and streams, and how fast it is.
    """
    from kgdx.config import Settings
    from kgdx.llm.connect import checked, connect, described

    access = Settings.load().llm(model)
    output.remark(f"asking {described(access)}")
    found: dict[str, Any] = {"model": access.model, "at": access.base_url}
    began = time.monotonic()
    found |= checked(connect(access, progress=output.remark))
    found["seconds"] = round(time.monotonic() - began, 1)
    if json:
        output.write_json(found)
        return
    for name, value in found.items():
        print(f"{name + ':':18} {value if value not in (None, '') else 'not told'}")
