"""Arguments and options that several commands share, alone or as dataclasses of those that belong together."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgdx.cli import output

if TYPE_CHECKING:
    from kgdx.episode.state import Limits

Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="PATH|URI",
        help="Folder of the graph, or bolt://… of a Neo4j; also by KGDX_STORE.",
        envvar="KGDX_STORE",
        show_envvar=False,
    ),
]
Mapping = Annotated[
    Path | None,
    typer.Option(
        "--mapping",
        metavar="FILE",
        help="What the names of the Neo4j stand for, where others built it; also by KGDX_NEO4J_MAPPING.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Also write it as one page for a browser, a phone or paper."),
]
Force = Annotated[
    bool, typer.Option("--force", help="Let --html replace a file that is no such page.", show_default=False)
]
Top = Annotated[int, typer.Option("--top", "-n", metavar="N", min=1, max=1000, help="How many diseases to list.")]
Policy = Annotated[
    str | None,
    typer.Option("--policy", metavar="NAME", help="Who chooses the steps of the diagnosis.", show_default=False),
]
Encoder = Annotated[
    bool,
    typer.Option("--encoder", help="Also read by meaning what no name matches (English; needs kgdx[encoder])."),
]
CaseBank = Annotated[
    bool,
    typer.Option("--case-bank", help="Also match with the patients in the graph (never of the same publication)."),
]
Observed = Annotated[
    list[str] | None,
    typer.Option(
        "--hpo",
        metavar="TERM",
        help="A finding that is present: HPO id or name; can be repeated.",
    ),
]
Excluded = Annotated[
    list[str] | None,
    typer.Option("--exclude-hpo", metavar="TERM", help="A finding that is absent, likewise."),
]
CaseArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="TEXT|FILE|-",
        help="The patient in words; a file (text, phenopacket, JSON); or - for standard input.",
    ),
]


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
        from kgdx.episode.state import Limits

        return Limits(
            steps=STEPS, seconds=self.max_seconds, cost=self.max_cost, calls=self.max_calls, tokens=self.max_tokens
        )


def announce(store: str | None, model: str | None, policy: str | None) -> None:
    """Say who is asked, before anything is sent; nothing where no model is.

    Raises:
        ConfigError: No model or endpoint is set.
    """
    from kgdx.episode.policy import POLICIES

    if model is None and (policy is None or not POLICIES.get(policy).capabilities.models):
        return
    from kgdx.config import Settings
    from kgdx.llm.connect import described

    output.remark(f"asking {described(Settings.load(store).llm(model))}")


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameters that are dataclasses become an option for each of their fields.

    The fields are annotated as parameters of a command are; groups stand in the order of the command's parameters.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class Size:
        ...     width: int = 80
        ...     height: int = 24
        >>> @grouped
        ... def draw(size: Size, text: str = "") -> None:
        ...     print(size.width, text)
        >>> list(inspect.signature(draw).parameters)
        ['width', 'height', 'text']
        >>> draw(width=3, height=4, text="x")
        3 x
    """
    hints = typing.get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters
    groups = {name: hints[name] for name in own if dataclasses.is_dataclass(hints[name])}
    flat: list[inspect.Parameter] = []
    for name, parameter in own.items():
        options = _options(groups[name]) if name in groups else [parameter.replace(annotation=hints[name])]
        flat += [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in options]

    @functools.wraps(command, updated=())
    def run(**given: Any) -> None:
        made = {
            name: group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
            for name, group in groups.items()
        }
        command(**made, **given)

    vars(run).update(__signature__=inspect.Signature(flat))
    run.__annotations__ = {each.name: each.annotation for each in flat}
    return run


def _options(group: Any) -> list[inspect.Parameter]:
    hints = typing.get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default if field.default is not dataclasses.MISSING else inspect.Parameter.empty,
            annotation=hints[field.name],
        )
        for field in dataclasses.fields(group)
    ]
