"""What commands that evaluate share: which cases, where finished work is kept, and how a result is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgdx.cli import inputs
from kgdx.cli.share_options import Sharing

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.case import Case, Failure
    from kgdx.config import LlmAccess
    from kgdx.evaluate.runner import EvaluationTask
    from kgdx.llm.chat import ChatModel

Cases = Annotated[
    str, typer.Argument(metavar="FILE|FOLDER|-", help="Cases that state their diagnosis, in any form; or .gz.")
]
OnSplit = Annotated[
    Path | None,
    typer.Option("--split", metavar="FILE", help="Only the cases that this file of `kgdx split` holds out."),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "--output", "-o", metavar="FOLDER", help="Keep finished work here; goes on when run again."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of all random choices.")]
Sample = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="So many by chance, at most two of a publication.")
]


def held_out_of(split: Path | None, cases: Iterator[Case | Failure]) -> Iterator[Case | Failure]:
    """Return the cases that a split holds out; all of them where there is none."""
    if split is None:
        return cases
    from kgdx.case.splits import Split

    return iter(Split.read(split).only(cases))


def asked_model(
    name: str | None, scripted: Callable[[str], ChatModel], cache: Path | None
) -> tuple[ChatModel, LlmAccess | None]:
    """Return a scripted model, or one that is connected when it is first asked, with the settings of its endpoint."""
    from kgdx.config import Settings
    from kgdx.evaluate.scripted_models import PREFIX

    if name is not None and name.startswith(PREFIX):
        return scripted(name), None
    settings = Settings.load()
    return inputs.connected(settings.llm(name), cache or settings.cache / "llm" / "answers.sqlite")


def listed(given: str) -> list[str]:
    """Return what an option names, several with commas; a comma between the settings of one parts nothing.

    Example:
        >>> listed("split:leaders=3,widest=9, infogain")
        ['split:leaders=3,widest=9', 'infogain']
    """
    names: list[str] = []
    for each in filter(None, map(str.strip, given.split(","))):
        if names and ":" in names[-1] and "=" in each and ":" not in each:
            names[-1] += f",{each}"
        else:
            names.append(each)
    return names


def through(
    sharing: Sharing, task: EvaluationTask, graph: Graph, share: int
) -> Callable[[Iterable[Any]], Iterable[Any]] | None:
    """Return what has other processes measure, so many items at once; ``None`` where nobody else is wanted."""
    if not sharing.shares:
        return None
    from kgdx.evaluate.runner import Shared

    return partial(sharing.out, Shared(task), graph=graph, share=share)
