"""The command that has a model think and answer many times, and keeps pairs of what was right and what was wrong."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kgdx.cli import inputs, output
from kgdx.cli.options import BudgetOptions, Force, Html, Json, Store, flag, option

if TYPE_CHECKING:
    from kgdx.policies.thought import ThoughtPolicy
    from kgdx_train.pair_choice import Filters
    from kgdx_train.pair_making import Sampling


@dataclass(frozen=True, slots=True)
class Drawn:
    """How much is sampled, and how."""

    thoughts: int = option(15, "N", "Thoughts of a question.", min=2, max=256)
    answers: int = option(5, "N", "Answers to one with documents.", min=2, max=256)
    temperature: float = option(0.2, "T", "Of the samples.", min=0.01, max=2)
    top_p: float = option(0.9, "SHARE", "Of the samples.", min=0.01, max=1)
    seed: int = option(0, "N", "Of the first sample.", min=0)

    def sampling(self) -> Sampling:
        from kgdx_train.pair_making import Sampling

        return Sampling(**asdict(self))


@dataclass(frozen=True, slots=True)
class PairSearch:
    """What a thought finds, as with --policy thought."""

    query: Literal["question+thought", "thought"] = option("question+thought", "", "What is searched for.")
    documents: int = option(32, "K", "Passages that are searched for.", min=0, max=100)
    room: int = option(8_000, "TOKENS", "That passages may take in a prompt.", min=16)
    facts: bool = option(True, "", "Whether the graph is asked, too.")

    def policy(self) -> ThoughtPolicy:
        from kgdx.episode.policy import configure
        from kgdx.policies.thought import ThoughtPolicy

        how = {"query": self.query, "documents": self.documents, "budget": self.room, "facts": self.facts}
        return configure(ThoughtPolicy, how)


@dataclass(frozen=True, slots=True)
class PairFiles:
    """Which pairs are kept."""

    most: int = option(2, "N", "Pairs of a kind that a question gives.", min=1, max=100)
    longest: int = option(8_000, "N", "Characters of a text at most.", min=1)
    any_language: bool = flag("Keep texts in another language than their question's, too.")
    mixed: Literal["drop", "reject"] = option("drop", "", "Thoughts that are right with documents alone.")

    def filters(self) -> Filters:
        from kgdx_train.pair_choice import Filters

        return Filters(longest=self.longest, language=not self.any_language, mixed=self.mixed, most=self.most)


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

    output.check(html, force=force)
    output.announce(store, llm, None)
    given = read_option_set(questions)
    for line in given.refused[:3]:
        output.remark(line)
    asked = distinct(given.questions)
    with inputs.graph(store) as graph:
        budget.require(graph.settings)
        made, about = _made(graph, asked, (llm, to), (drawn, searched, kept, budget))
    about |= {"equal": len(given.questions) - len(asked), "refused": len(given.refused)}
    write_pairs(to, made, about)
    if html is not None:
        from kgdx.render.pages.figure_pages import pairs_page

        output.write(html, lambda: pairs_page(about, [asdict(each) for each in made]), force=force)
    if as_json:
        output.write_json(about)
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
    with journal.working(about), output.progress_bar("questions", len(questions)) as advance:
        before = len(journal)
        if before:
            output.remark(f"goes on from {before:,} samples in {journal.path}")
        output.remark(str(maker.estimate(questions, prices)))
        found = asyncio.run(maker.ask(questions, advance))
        output.remark(f"{len(journal) - before:,} samples asked")
    made, statistics = made_of(found, kept.filters(), drawn.seed)
    return made, {**about, "drawn": asdict(drawn), "kept": asdict(kept), "statistics": statistics}
