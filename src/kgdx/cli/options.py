"""Arguments, options and groups of them that several commands share, and how they become parameters."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, cast

import typer

from kgdx.errors import UsageError
from kgdx.registry import Registry

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.case import Case
    from kgdx.config import LlmAccess, Settings
    from kgdx.episode.state import Limits
    from kgdx.evaluate.runner import EvaluationTask
    from kgdx.learn.shares import Item, Result
    from kgdx.learn.workers import Work
    from kgdx.policies.rerank import RerankPolicy

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
OnStore = Annotated[
    bool, typer.Option("--on-store", help="Run every look-up as Cypher on the store, none on the snapshot's arrays.")
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
    bool, typer.Option("--encoder", help="Also read by meaning what no name matches (English; needs kgdx[encoder]).")
]
CaseBank = Annotated[
    bool | None,
    typer.Option(
        "--case-bank/--no-case-bank",
        help="Match with the patients in the graph, never of the same publication; where it has some by default.",
        show_default=False,
    ),
]
Learned = Annotated[
    str | None,
    typer.Option("--embeddings", metavar="NAME", help="Which embeddings of the graph; vgae, or the only ones."),
]
OUT = ("--out", "--output", "-o")
"""What the option is called that names what is written."""
Cases = Annotated[
    str, typer.Argument(metavar="FILE|FOLDER|-", help="Cases that state their diagnosis, in any form; or .gz.")
]
OnSplit = Annotated[
    Path | None,
    typer.Option("--split", metavar="FILE", help="Only the cases that this file of `kgdx split` holds out."),
]
Out = Annotated[
    Path | None,
    typer.Option(*OUT, metavar="FOLDER", help="Keep finished work here; goes on when run again."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of all random choices.")]
Sample = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="So many by chance, at most two of a publication.")
]
CaseArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="TEXT|FILE|-", help="The patient in words; a file (text, phenopacket, JSON); or - for standard input."
    ),
]


def option(default: Any, metavar: str, help: str, *names: str, **how: Any) -> Any:
    """Return the default of a command's parameter, or of a field of a group of them, that is an option.

    Args:
        names: What it is called; by its parameter when left out.
        how: See :func:`typer.Option`, such as ``min`` and ``max``.
    """
    return _field(typer.Option, default, names, metavar=metavar or None, help=help, **how)


def flag(help: str, *names: str) -> Any:
    """Return the same for an option that is off unless it is given."""
    return _field(typer.Option, False, names or ("--{}",), help=help)


def argument(default: Any, metavar: str, help: str) -> Any:
    """Return the same for an argument that may be left out."""
    return _field(typer.Argument, default, (), metavar=metavar or None, help=help)


def _field(kind: Callable[..., Any], default: Any, names: Sequence[str], **how: Any) -> Any:
    return dataclasses.field(default=default, metadata={"kind": kind, "names": names, "how": how})


@dataclass(frozen=True)
class Presentation:
    """How a result is shown."""

    html: Html = None
    force: Force = False
    as_json: Json = False
    plain: bool = flag("For pipes: one fact a line, tabs between columns, no colour.")


@dataclass(frozen=True)
class TermOptions:
    """Findings that are given as terms, and outweigh what is read."""

    hpo: list[str] | None = option(None, "TERM", "A finding that is present: HPO id or name; can be repeated.")
    exclude_hpo: list[str] | None = option(None, "TERM", "A finding that is absent, likewise.")
    withdrawn: list[str] | None = option(
        None, "TERM", "A finding that was read wrongly: nothing is known of it.", "--not"
    )

    @property
    def given(self) -> bool:
        return bool(self.hpo or self.exclude_hpo or self.withdrawn)


@dataclass(frozen=True)
class Reading:
    """A language model that reads a text after the rules."""

    reader: str | None = option(None, "MODEL", "Have this model at KGDX_LLM_BASE_URL read the text after the rules.")
    heed_doubts: bool = flag("Take what the model of --reader doubts as unknown, not only tell it.")

    def again(self, graph: Graph, case: Case, limits: Limits) -> Case:
        """Return the case as the model has read it, too, where one is named."""
        return graph.read_again(case, self.reader, heed_doubts=self.heed_doubts, limits=limits)


@dataclass(frozen=True)
class BudgetOptions:
    """What a language model may cost."""

    max_calls: int | None = option(None, "N", "Most calls of the model.", min=1)
    max_tokens: int | None = option(None, "N", "Most tokens, read and written.", min=1)
    max_cost: float | None = option(None, "COST", "Most cost, by KGDX_LLM_PRICE_IN and _OUT.", min=0)
    max_seconds: float | None = option(None, "S", "Most time in all.", min=0)

    def limits(self) -> Limits:
        """Return the budget."""
        from kgdx.api.questions import STEPS
        from kgdx.episode.state import Limits

        return Limits(
            steps=STEPS, seconds=self.max_seconds, cost=self.max_cost, calls=self.max_calls, tokens=self.max_tokens
        )

    def access(self, name: str | None) -> LlmAccess:
        """Return how a model is asked within the budget."""
        from kgdx.api.questions import limited
        from kgdx.config import Settings

        return limited(Settings.load().llm(name), self.limits())

    def require(self, settings: Settings) -> None:
        """Refuse to ask a model about many patients where neither an option nor a setting says what that may cost."""
        names = ("max_calls", "max_tokens", "max_cost")
        if not any(getattr(self, name) is not None or name in settings.llm_settings for name in names):
            hint = "give --max-calls, --max-tokens or --max-cost, or set KGDX_LLM_MAX_CALLS"
            raise UsageError("a model is asked about many patients, and nothing limits what that costs", hint=hint)


@dataclass(frozen=True)
class Model(BudgetOptions):
    """A language model and its budget."""

    llm: str | None = option(None, "MODEL", "Have this model at KGDX_LLM_BASE_URL plan and write.")
    rounds: int = option(5, "N", "Most plans of the model.", min=1, max=50)


MANY = 200
"""Fewer cases are done before other processes would have started."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who shares the work."""

    jobs: int | None = option(
        None, "N", "Processes that share the work, or requests to a model at a time.", min=1, max=1024
    )
    ray: str | None = option(None, "ADDRESS|local", "Share it out on a Ray cluster; needs kgdx[cluster].")

    @property
    def shares(self) -> bool:
        return self.ray is not None or (self.jobs or 1) > 1

    def out(
        self,
        work: Work[Item, Result],
        items: Iterable[Item],
        graph: Graph,
        *,
        total: int | None = None,
        **how: Any,
    ) -> Iterator[Result]:
        """Yield the result of each item, in their order; with a total, as many processes share as suit so many."""
        from kgdx.learn.shares import shared
        from kgdx.learn.workers import processors

        jobs = self.jobs
        if jobs is None and self.ray is None:
            jobs = 1 if (total or 0) < MANY else processors()
        return shared(work, items, graph, jobs=jobs, ray=self.ray, **how)

    def through(
        self, task: EvaluationTask, graph: Graph, share: int
    ) -> Callable[[Iterable[Any]], Iterable[Any]] | None:
        """Return what has other processes measure, so many items at once; ``None`` where nobody else is wanted."""
        if not self.shares:
            return None
        from kgdx.evaluate.runner import Shared

        return functools.partial(self.out, Shared(task), graph=graph, share=share)

    def refuse_ray(self, what: str) -> None:
        """Refuse Ray where a model is asked, whose budget one process keeps."""
        if self.ray is not None:
            raise UsageError(f"--ray goes without {what}", hint="--jobs says how many requests run at a time")

    def refuse(self, what: str) -> None:
        """Refuse other processes where a model is asked, whose budget one process keeps."""
        if self.shares:
            hint = "KGDX_LLM_CONCURRENCY says how many requests run at a time"
            raise UsageError(f"--jobs and --ray go without {what}", hint=hint)


@dataclass(frozen=True)
class Rerank:
    """Who re-ranks, and how."""

    rerank: str | None = option(None, "MODEL", "Have this model at KGDX_LLM_BASE_URL put the candidates in order.")
    rerank_top: int = option(50, "K", "How many candidates it orders, such as 50, 80 or 100.", min=2, max=500)
    rerank_prompt: str = option("vanilla", "NAME|FILE", "How: vanilla, cot (by thoughts), or a file of `learn prompt`.")
    rerank_weight: float = option(1.0, "SHARE", "Of its order beside the score; 1: the order alone.", min=0, max=1)
    rerank_window: int | None = option(
        None, "N", "Candidates a request, in sliding windows; as fit by default.", min=2, max=500
    )
    shuffle: int = option(0, "N", "Ask N times more, in random orders; measures agreement.", min=0, max=20)

    def policy(
        self, *, top: int, explain: int, case_bank: bool | None, others: Iterable[str | None]
    ) -> RerankPolicy | None:
        """Return the policy that re-ranks; ``None`` where no model is named; ``others`` may choose steps."""
        from kgdx.episode.policy import make_policy

        if self.rerank is None:
            if self != Rerank():
                raise UsageError("it is said how to re-rank, and not by which model", hint="give --rerank MODEL")
            return None

        if any(others):
            raise UsageError("--rerank goes without --llm and --policy", hint="it ranks, and has the model re-order")
        settings: dict[str, Any] = {
            "candidates": self.rerank_top,
            "prompt": self.rerank_prompt,
            "weight": self.rerank_weight,
            "window": self.rerank_window,
            "shuffles": self.shuffle,
        }
        made = make_policy("rerank", settings, top=top, explain=explain, case_bank=case_bank)
        return cast("RerankPolicy", made)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameters that are dataclasses become an option for each of their fields.

    Groups stand in the order of the command's parameters.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class Size:
        ...     width: int = option(80, "N", "Columns.", min=1)
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
        if name in groups:
            inner = typing.get_type_hints(groups[name], include_extras=True)
            flat += [_parameter(each.name, each, inner[each.name]) for each in fields(groups[name])]
        else:
            flat.append(_parameter(name, parameter.default, hints[name]))

    @functools.wraps(command, updated=())
    def run(**given: Any) -> None:
        made = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**made, **given)

    vars(run).update(__signature__=inspect.Signature(flat))
    run.__annotations__ = {each.name: each.annotation for each in flat}
    return run


def _parameter(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    if isinstance(default, dataclasses.Field):
        about, default = default.metadata, default.default
        if about:
            names = (each.format(name.replace("_", "-")) for each in about["names"])
            default = about["kind"](default, *names, **about["how"])
    if default is dataclasses.MISSING:
        default = inspect.Parameter.empty
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def add(app: typer.Typer, *commands: Callable[..., None], **named: Callable[..., None]) -> None:
    """Add commands, which are called as their functions are, or as is said."""
    for name, command in [(None, each) for each in commands] + [*named.items()]:
        app.command(name)(grouped(command))


def add_typer(app: typer.Typer, name: str, help: str, *commands: Callable[..., None], **named: Any) -> typer.Typer:
    """Add a group of commands, and return it."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=help)
    add(group, *commands, **named)
    app.add_typer(group, name=name)
    return group


class PackageCommands(Protocol):
    """Commands that a package of its own brings."""

    @staticmethod
    def register(group: typer.Typer) -> None: ...


COMMANDS: Registry[PackageCommands] = Registry(
    "group of commands",
    "kgdx.commands",
    {},
    apart={"learn": "kgdx-train", "mapping": "kgdx-foreign", "train": "kgdx-train"},
)
"""Name → a group of commands of an installed package."""


def add_group(app: typer.Typer, name: str, help: str) -> None:
    """Add the commands of a package; one command that says which package brings them, where it is not installed."""
    if name in COMMANDS:
        COMMANDS.get(name).register(add_typer(app, name, help))
        return
    _absent(app, name, name, help)


def add_commands(group: typer.Typer, name: str, commands: Sequence[str]) -> None:
    """Add a package's commands to a group; each says which package brings it, where that is not installed."""
    if name in COMMANDS:
        COMMANDS.get(name).register(group)
        return
    for each in commands:
        _absent(group, name, each)


def _absent(app: typer.Typer, name: str, command: str, help: str = "") -> None:
    def missing() -> None:
        COMMANDS.get(name)

    takes_all = {"allow_extra_args": True, "ignore_unknown_options": True}
    said = f"{help} It needs the package {COMMANDS.apart[name]}.".lstrip()
    app.command(command, help=said, context_settings=takes_all)(missing)
