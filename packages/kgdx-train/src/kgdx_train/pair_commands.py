"""The command that has a model think and answer many times, and keeps pairs of what was right and what was wrong."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from kgdx.cli import inputs, options, page_files
from kgdx.cli.options import BudgetOptions, Force, Html, Json, Store, grouped
from kgdx.cli.rerank_options import require_budget

if TYPE_CHECKING:
    from kgdx.policies.thought import ThoughtPolicy
    from kgdx_train.pair_choice import Filters
    from kgdx_train.pair_making import Sampling


@dataclass(frozen=True, slots=True)
class Drawn:
    """How much is sampled, and how."""

    thoughts: Annotated[int, typer.Option(metavar="N", min=2, max=256, help="Thoughts of a question.")] = 15
    answers: Annotated[int, typer.Option(metavar="N", min=2, max=256, help="Answers to one with documents.")] = 5
    temperature: Annotated[float, typer.Option(metavar="T", min=0.01, max=2, help="Of the samples.")] = 0.2
    top_p: Annotated[float, typer.Option(metavar="SHARE", min=0.01, max=1, help="Of the samples.")] = 0.9
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the first sample.")] = 0

    def sampling(self) -> Sampling:
        from kgdx_train.pair_making import Sampling

        return Sampling(**asdict(self))


@dataclass(frozen=True, slots=True)
class PairSearch:
    """What a thought finds, as with --policy thought."""

    query: Annotated[Literal["question+thought", "thought"], typer.Option(help="What is searched for.")] = (
        "question+thought"
    )
    documents: Annotated[int, typer.Option(metavar="K", min=0, max=100, help="Passages that are searched for.")] = 32
    room: Annotated[int, typer.Option(metavar="TOKENS", min=16, help="That passages may take in a prompt.")] = 8_000
    facts: Annotated[bool, typer.Option("--facts/--no-facts", help="Whether the graph is asked, too.")] = True

    def policy(self) -> ThoughtPolicy:
        from kgdx.episode.policy import configure
        from kgdx.policies.thought import ThoughtPolicy

        how = {"query": self.query, "documents": self.documents, "budget": self.room, "facts": self.facts}
        return cast("ThoughtPolicy", configure(ThoughtPolicy, how))


@dataclass(frozen=True, slots=True)
class PairFiles:
    """Which pairs are kept."""

    most: Annotated[int, typer.Option(metavar="N", min=1, max=100, help="Pairs of a kind that a question gives.")] = 2
    longest: Annotated[int, typer.Option(metavar="N", min=1, help="Characters of a text at most.")] = 8_000
    any_language: Annotated[
        bool, typer.Option("--any-language", help="Keep texts in another language than their question's, too.")
    ] = False
    mixed: Annotated[Literal["drop", "reject"], typer.Option(help="Thoughts that are right with documents alone.")] = (
        "drop"
    )

    def filters(self) -> Filters:
        from kgdx_train.pair_choice import Filters

        return Filters(longest=self.longest, language=not self.any_language, mixed=self.mixed, most=self.most)


@grouped
def pairs(
    questions: Annotated[Path, typer.Argument(metavar="QUESTIONS", help="Option questions with their right options.")],
    llm: Annotated[str, typer.Option("--llm", metavar="MODEL", help="Who thinks and answers, at KGDX_LLM_BASE_URL.")],
    to: Annotated[Path, typer.Option("--out", "--output", "-o", metavar="FILE", help="Where the pairs are written.")],
    drawn: Drawn,
    searched: PairSearch,
    kept: PairFiles,
    budget: BudgetOptions,
    html: Html = None,
    force: Force = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Make pairs of thoughts and of answers for `train dpo`.

    They are told apart by whether they lead to the right option (RAR²). Every sample is kept in FILE.journal at once:
    stopped or killed, it goes on, and asks nothing twice. Example: kgdx learn pairs questions.jsonl --llm qwen3:8b
    --max-calls 50000 -o pairs.jsonl --html pairs.html
    """
    from kgdx.evaluate.option_sets import read_option_set
    from kgdx_train.pair_making import distinct
    from kgdx_train.preference_pairs import write_pairs

    page_files.check(html, force=force)
    options.announce(store, llm, None)
    given = read_option_set(questions)
    for line in given.refused[:3]:
        options.remark(line)
    asked = distinct(given.questions)
    with inputs.graph(store) as graph:
        require_budget(budget, graph.settings)
        made, about = _made(graph, asked, (llm, to), (drawn, searched, kept, budget))
    about |= {"equal": len(given.questions) - len(asked), "refused": len(given.refused)}
    write_pairs(to, made, about)
    if html is not None:
        from kgdx.render.pages.figure_pages import pairs_page

        page_files.write(html, lambda: pairs_page(about, [asdict(each) for each in made]), force=force)
    if as_json:
        options.write_json(about)
        return
    for kind in ("thought", "answer"):
        told = about["statistics"][kind]
        why, samples = (", ".join(f"{n} {c:,}" for n, c in told[name].items()) for name in ("questions", "samples"))
        print(f"{told['pairs']:,} pairs of {kind}s; questions: {why}; samples: {samples or 'none'}")
    print(f"written to {to}")


def _made(
    graph: Any, questions: list[Any], names: tuple[str, Path], how: tuple[Drawn, PairSearch, PairFiles, BudgetOptions]
) -> tuple[list[Any], dict[str, Any]]:
    import asyncio

    from kgdx.api.questions import connected
    from kgdx_train.pair_making import PairMaker, Retrieval, made_of
    from kgdx_train.sample_journal import SampleJournal

    drawn, searched, kept, budget = how
    model, prices = connected(graph.settings, names[0], budget.limits(), cached=False)
    journal = SampleJournal(names[1].with_name(f"{names[1].name}.journal"))
    concurrency = graph.settings.llm(names[0]).concurrency
    maker = PairMaker(Retrieval(graph, searched.policy()), model, journal, drawn.sampling(), concurrency)
    about = maker.about(graph.fingerprint)
    with journal.working(about), options.progress_bar("questions", len(questions)) as advance:
        before = len(journal)
        if before:
            options.remark(f"goes on from {before:,} samples in {journal.path}")
        options.remark(str(maker.estimate(questions, prices)))
        found = asyncio.run(maker.ask(questions, advance))
        options.remark(f"{len(journal) - before:,} samples asked")
    made, statistics = made_of(found, kept.filters(), drawn.seed)
    return made, {**about, "drawn": asdict(drawn), "kept": asdict(kept), "statistics": statistics}
