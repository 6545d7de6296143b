"""Options of commands that ask a language model: which one, and what it may cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from kgdx.cli import output

if TYPE_CHECKING:
    from kgdx.actions.state import Limits


STEPS = 200
"""Most actions of a question."""


@dataclass(frozen=True)
class Model:
    """A language model and its budget."""

    llm: Annotated[
        str | None,
        typer.Option("--llm", metavar="MODEL", help="Have this model at KGDX_LLM_BASE_URL plan and write."),
    ] = None
    rounds: Annotated[int, typer.Option(metavar="N", min=1, max=50, help="Most plans of the model.")] = 5
    max_calls: Annotated[int | None, typer.Option(metavar="N", min=1, help="Most calls of the model.")] = None
    max_tokens: Annotated[int | None, typer.Option(metavar="N", min=1, help="Most tokens, read and written.")] = None
    max_cost: Annotated[
        float | None, typer.Option(metavar="COST", min=0, help="Most cost, by KGDX_LLM_PRICE_IN and _OUT.")
    ] = None
    max_seconds: Annotated[float | None, typer.Option(metavar="S", min=0, help="Most time in all.")] = None

    def limits(self) -> Limits:
        """Return the budget."""
        from kgdx.actions.state import Limits

        return Limits(
            steps=STEPS, seconds=self.max_seconds, cost=self.max_cost, calls=self.max_calls, tokens=self.max_tokens
        )


def announce(store: str | None, model: str | None, policy: str | None) -> None:
    """Say who is asked, before anything is sent; nothing where no model is.

    Raises:
        ConfigError: No model or endpoint is set.
    """
    if model is None and policy != "planner":
        return
    from kgdx.config import Settings
    from kgdx.llm.connect import described

    output.remark(f"asking {described(Settings.load(store).llm(model))}")
