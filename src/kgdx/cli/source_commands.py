"""Commands about sources: their list, their licences, sources of one's own, and records that were refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kgdx import api
from kgdx.cli import output
from kgdx.cli.options import OUT, BudgetOptions, Json, Store, add, argument, flag, grouped, option
from kgdx.errors import UsageError

if TYPE_CHECKING:
    from polars import DataFrame

    from kgdx.ingest.extraction.filters import RelationReader
    from kgdx.ingest.manifest import Manifest
    from kgdx.llm.budget import Meter

WRONG = 5


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(help="List the sources, or make one of your own.", invoke_without_command=True)
    group.callback()(grouped(sources))
    add(group, new, check, accept)
    app.add_typer(group, name="sources")
    refused = typer.Typer(help="Look at refused records, mend and load them.", no_args_is_help=True)
    add(refused, show, export, retry)
    app.add_typer(refused, name="quarantine")
    add(app, extract_relations, index)


def sources(context: typer.Context, as_json: Json = False) -> None:
    """List the sources that can be loaded, kgdx's and your own, and what of each takes part in which methods."""
    if context.invoked_subcommand is not None:
        return
    from kgdx.ingest.manifest import manifests
    from kgdx.ingest.pipeline.freshness import parts
    from kgdx.render.terminal.sources_text import source_list

    found = tuple(manifests().values())
    read = {each.name: parts(each) for each in found}
    told = {name: [{"methods": key, "reads": part} for key, part in own.items()] for name, own in read.items()}
    document = [each.model_dump(mode="json", by_alias=True) | {"parts": told[each.name]} for each in found]
    output.present(document, as_json, lambda _: source_list(found, read))


def new(
    name: str = argument(..., "NAME", "What the source is to be called: small letters, digits, _."),
    file: Path = argument(..., "FILE", "CSV, TSV, JSON lines or Parquet; compressed or not."),
    to: Path | None = option(None, "FILE", "File to write; NAME.yaml by default.", *OUT),
) -> None:
    """Write a first manifest for a file of yours.

    It guesses what the columns mean. Example: kgdx sources new my_annotations annotations.csv
    """
    from kgdx.ingest.manifest import manifests
    from kgdx.ingest.own_source import scaffold
    from kgdx.schema import load_schema

    target = to or Path(f"{name}.yaml")
    if target.exists():
        raise UsageError(f"{target} is there already", hint="give another file with --out")
    if name in manifests() and manifests()[name].shipped:
        raise UsageError(f"a source called {name} ships with kgdx", hint="choose another name")
    beside = file.absolute().parent == target.absolute().parent
    target.write_text(scaffold(name, file, load_schema(), file.name if beside else str(file.absolute())), "utf-8")
    print(target)
    output.remark(f"read it, mend it, then: kgdx sources check {target}")


def check(
    manifest: str = argument(..., "MANIFEST", "A manifest's file, or the name of a source."),
    file: Path | None = argument(None, "FILE", "The source's file; by default the manifest's own."),
    rows: int = option(3, "N", "How many rows of each table to show.", min=0, max=100),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Say what a manifest would load, merge and refuse.

    No graph is touched. The ends of relations are looked for in the graph that is there, if any. The exit code is 5
    where the manifest is wrong or nothing can be loaded. Example: kgdx sources check my_annotations.yaml
    """
    from kgdx.api import readers
    from kgdx.config import Settings
    from kgdx.ingest.manifest import manifests
    from kgdx.ingest.own_source import attempt, disagreements, file_of
    from kgdx.ingest.pipeline.graph_folder import GraphFolder
    from kgdx.ingest.sources import FORMATS
    from kgdx.render.terminal.sources_text import tried, wrong
    from kgdx.schema import load_schema

    found = _manifest(manifest)
    known = manifests([] if found.shipped or found.path is None else [found.path])
    if problems := disagreements(found, load_schema(), known, [*FORMATS, *readers()]):
        output.present({"faults": problems}, as_json, lambda _: wrong(found, problems))
        raise typer.Exit(WRONG)
    folder = GraphFolder(Settings.load(store).graph_folder)
    trial = attempt(found, file or file_of(found), load_schema(), folder, rows=rows, readers=readers())
    output.present(trial, as_json, lambda _: tried(found, trial))
    if not trial.counts.loaded + trial.counts.merged:
        raise typer.Exit(WRONG)


def accept(
    name: str = argument(..., "SOURCE", "Name of the source, or its manifest's file."),
) -> None:
    accept_licence(name)


def accept_licence(name: str, words: Sequence[str] = ()) -> None:
    """Remember that the user accepts the licence of a source, and say which it is."""
    from kgdx.config import Settings
    from kgdx.ingest.manifest import is_manifest
    from kgdx.ingest.source_choice import accept as remember

    paths = (word.partition("=")[0] for word in words)
    found = _manifest(name, [Path(path).expanduser() for path in paths if is_manifest(path)])
    remember(found, Settings.load().home)
    output.remark(f"accepted the licence of {found.title}: {found.licence} ({found.homepage})")


def _manifest(word: str, more: Sequence[Path] = ()) -> Manifest:
    from kgdx.ingest.manifest import is_manifest, manifest, read_manifest

    return read_manifest(Path(word).expanduser(), named=False) if is_manifest(word) else manifest(word, more)


def show(
    source: str | None = argument(None, "SOURCE", "Of this source only."),
    rows: int = option(20, "N", "How many reasons to show.", min=1, max=1000),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Show why records were refused.

    Each reason of a source stands with how often, and an example. Example: kgdx quarantine show hpoa
    """
    from kgdx.ingest.pipeline.quarantine import summary
    from kgdx.render.terminal.sources_text import overview

    table = _table(store, source)
    groups = summary(table)
    output.present(groups, as_json, lambda _: overview(groups, rows))


def export(
    file: Path = argument(..., "FILE", "File to write: .csv, .jsonl or .parquet."),
    source: str | None = option(None, "NAME", "Of this source only."),
    store: Store = None,
) -> None:
    """Write the refused records to a file, to be mended there.

    Mend the column `record`, leave the others as they are, then: kgdx quarantine retry FILE
    """
    from kgdx.ingest.pipeline.quarantine import export as write
    from kgdx.results.words import count

    written = write(_table(store, source), file)
    output.remark(f"wrote {count(written, 'record')} to {file}")


def retry(
    file: Path | None = argument(None, "FILE", "An exported file whose records you have mended."),
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Load refused records again.

    Those that were mended in a file, or without one all of them as they are. What was mended is kept with the graph and
    holds for every build of it.
    """
    from kgdx.render.terminal.build_text import build_progress
    from kgdx.render.terminal.sources_text import retried

    with build_progress() as tell:
        done = api.retry(file, store=store, progress=tell)
    document = {name: getattr(done, name) for name in ("mended", "before", "after", "refused")}
    output.present({**document, "report": done.report.to_dict()}, as_json, lambda _: retried(done))


def _table(store: str | None, source: str | None) -> DataFrame:
    from kgdx.config import Settings
    from kgdx.ingest.pipeline.graph_folder import GraphFolder
    from kgdx.ingest.pipeline.quarantine import read

    return read(GraphFolder(Settings.load(store).graph_folder), source)


@dataclass(frozen=True)
class RelationReading(BudgetOptions):
    """Who reads relations, and what a model may cost."""

    llm: str | None = option(None, "MODEL", "Ask this model at KGDX_LLM_BASE_URL; else by rules.")
    vocabulary: Path | None = option(None, "FILE", "Names that the rules may trust: a medical.json.")
    jobs: int | None = option(None, "N", "Processes, or questions at a time; KGDX_LLM_CONCURRENCY.", min=1, max=64)
    together: int = option(1, "N", "Records that one question to the model holds.", min=1, max=100)
    temperature: float = option(0.0, "T", "Of the model; 0 for the likeliest.", min=0, max=2)
    no_cache: bool = flag("Ask again what the model answered before.")

    def reader(self) -> tuple[RelationReader, Meter, int]:
        """Return who reads, what counts the cost, and how many pages or questions are read at a time."""
        import os
        from dataclasses import replace

        from kgdx.config import Settings
        from kgdx.llm.budget import Meter

        if self.llm is None:
            from kgdx.ingest.extraction.filters import NameVocabulary, read_vocabulary
            from kgdx.ingest.extraction.rule_reader import RuleReader

            known = NameVocabulary() if self.vocabulary is None else read_vocabulary(self.vocabulary)
            return RuleReader(known), Meter(), self.jobs or os.cpu_count() or 1
        if self.vocabulary is not None:
            raise UsageError("--vocabulary is for the rules", hint="leave out --vocabulary, or --llm")
        from kgdx.ingest.extraction.model_readers import ModelReader
        from kgdx.llm.connect import connect

        access = self.access(self.llm)
        access = replace(access, concurrency=self.jobs or access.concurrency)
        meter = Meter.of(access)
        cache = None if self.no_cache else Settings.load().cache / "llm" / "answers.sqlite"
        model = connect(access, cache=cache, meter=meter)
        return ModelReader(model, self.together, self.temperature), meter, access.concurrency


def extract_relations(
    file: list[Path] = argument(..., "FILE…", "Questions and answers, JSON lines; or compressed."),
    out: Path = option(..., "FOLDER", "Where finished pages are kept.", *OUT),
    only: str | None = option(None, "A:B", "Only pages A to B-1, counted from 0.", "--pages"),
    page_size: int = option(1000, "N", "Records of a page.", min=1, max=100_000),
    *,
    reading: RelationReading,
    as_json: Json = False,
) -> None:
    """Read relations from questions and answers.

    Interrupted, it goes on where it stopped when run again. Then: kgdx update huatuo=FOLDER. Example: kgdx
    extract-relations huatuo.jsonl --out relations
    """
    from kgdx.ingest.extraction.extract import extract
    from kgdx.ingest.extraction.question_pages import count
    from kgdx.render.terminal.sources_text import extraction, extraction_progress

    reader, meter, jobs = reading.reader()
    wanted = _range(only)
    total = count(file, page_size) if wanted is None else len(wanted)
    with extraction_progress(total, meter.priced) as tell:
        done = extract(file, out, reader, size=page_size, only=wanted, jobs=jobs, meter=meter, progress=tell)
    output.present(done, as_json, lambda each: extraction(each, meter.priced))


def _range(text: str | None) -> range | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,9}):(\d{1,9})", text)
    if found is None or int(found[1]) >= int(found[2]):
        raise UsageError(f"--pages {text} is no range", hint="write it as 0:10, for the pages 0 to 9")
    return range(int(found[1]), int(found[2]))


def index(
    folder: Path | None = argument(
        None, "FOLDER", "Corpus in JSON lines, or documents; the graph's own texts without it."
    ),
    tag: str = option("", "NAME", "What the source is called in a search."),
    k1: float | None = option(None, "", "How much a repeated word counts. [default: 1.5]"),
    b: float | None = option(None, "", "How little it counts in a long text. [default: 0.75]"),
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Index texts to search, of the graph or a folder.

    What an interruption left unfinished goes on where it was; other --k1 or --b cost no second index.
    Example: kgdx index guidelines --tag guidelines
    """
    from kgdx.actions.graph_context import GraphContext
    from kgdx.config import Settings
    from kgdx.terms.corpora import Corpus
    from kgdx.terms.text_ranking import Parameters
    from kgdx.terms.text_search import graph_texts, index_corpus, index_fetched

    settings, tell = Settings.load(store), output.remark
    home, given = settings.home / "texts", {name: value for name, value in (("k1", k1), ("b", b)) if value is not None}
    parameters = Parameters(**given) if given else None
    found: dict[str, Any] = {}
    if folder is None:
        if tag:
            raise UsageError("a tag is for a folder", hint="give the folder before --tag")
        with GraphContext(settings, progress=tell) as graph:
            made = graph_texts(graph.snapshot, lambda: graph.store, tell, parameters)
        found["abstracts"] = index_fetched(settings.cache / "pubmed" / "pubmed.sqlite", home, tell, parameters)
    else:
        name = folder.stem if folder.is_file() else folder.resolve().name
        corpus = Corpus.of(folder, tag or name)
        found = {"files": len(corpus.files), "kinds": corpus.kinds(), "not_read": corpus.others}
        tell(f"{_kinds(found['kinds'])} in {folder}")
        made = index_corpus(home, corpus, tell, parameters)
    found = {"pieces": len(made), "sources": made.sources, "k1": made.card["k1"], "b": made.card["b"], **found}
    found |= made.card["tally"]
    if as_json:
        output.write_json(found)
    else:
        print("\n".join(_told(found)))


def _kinds(kinds: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {'file' if count == 1 else 'files'} of {kind}" for kind, count in kinds.items())


def _told(found: dict[str, Any]) -> Iterator[str]:
    sources = ", ".join(found["sources"]) or "no source"
    yield f"{found['pieces']:,} pieces of texts of {sources}; k1 {found['k1']:g}, b {found['b']:g}"
    if "abstracts" in found:
        yield f"{found['abstracts']:,} abstracts fetched from PubMed so far"
        return
    others = f"; {found['not_read']:,} of other kinds are not read" if found["not_read"] else ""
    yield f"{found['files']:,} files: {_kinds(found['kinds'])}{others}"
    yield f"{found['records']:,} records: {found['kept']:,} kept, {sum(found['refused'].values()):,} refused"
    for reason, count in found["refused"].items():
        yield f"  {count:,}: {reason}"
    if found["named"]:
        yield "  the first of them:"
        yield from (f"    {each}" for each in found["named"])
