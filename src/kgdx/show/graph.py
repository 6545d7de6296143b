"""The graph itself in the terminal: templates, their rows, replayed queries, servers and copies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.results.words import clean, count, seconds
from kgdx.show.console import plain

if TYPE_CHECKING:
    from kgdx.actions import Replayed
    from kgdx.store.copy import CopyReport
    from kgdx.store.server import ServerInfo
    from kgdx.store.templates import Template


def rows(columns: Sequence[str], found: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Rows of a template: a table, or a block for each row where the columns would not fit."""
    if not found:
        return Text("no rows", style="dim")
    named = columns or tuple(found[0])
    total = Text(count(len(found), "row"), style="dim")
    if len(named) <= 5:
        return Group(plain(named, [[row.get(name) for name in named] for row in found]), total)
    width = max(len(name) for name in named)
    blocks: list[RenderableType] = []
    for row in found:
        filled = [(name.ljust(width), row.get(name)) for name in named if row.get(name) not in (None, "", [])]
        blocks += [plain(("", ""), filled), Text()]
    return Group(*blocks, total)


def template_list(found: Iterable[Template]) -> RenderableType:
    """All templates: name, what each is for, what it takes."""
    parts: list[RenderableType] = []
    for kind, heading in (("read", "Read templates (kgdx run NAME …)"), ("write", "Write templates")):
        chosen = sorted((each for each in found if each.kind == kind), key=lambda each: each.name)
        if chosen:
            lines = [(Text(each.name, style="bold"), _purpose(each)) for each in chosen]
            parts += [Text(heading), plain(("", ""), lines), Text()]
    return Group(*parts[:-1])


def template_page(template: Template) -> RenderableType:
    """One template with its parameters and columns; its Cypher is for the caller to print, in lines as they are."""
    takes = "\n".join(f"  {name}: {type_}" for name, type_ in template.parameters.items()) or "  nothing"
    returns = ", ".join(template.columns) or "nothing"
    return Group(
        Text(f"{template.name} ({template.kind})", style="bold"),
        Text(clean(template.purpose)),
        Text(f"\nTakes\n{takes}\nReturns\n  {returns}"),
    )


def replayed(found: Iterable[Replayed]) -> RenderableType:
    """The queries of a saved run: what they returned then and return now."""
    table = plain(
        ("Template", "then", "now", ""),
        [(each.template, each.recorded, each.rows, _verdict(each)) for each in found],
        right=("then", "now"),
    )
    return table if table.row_count else Text("The run recorded no queries.")


def server(info: ServerInfo) -> RenderableType:
    """A local Neo4j: where it listens and how to sign in."""
    facts = [
        ("Neo4j Browser", info.http),
        ("Bolt", info.bolt),
        ("user", info.user),
        ("password", f"in {info.password_file}"),
        ("log", info.log),
        ("process", str(info.pid or "")),
    ]
    return plain(("", ""), [fact for fact in facts if fact[1]])


def copied(report: CopyReport) -> RenderableType:
    """A copy between stores: what was copied, how, and in what both are equal."""
    equal = "the same content" if report.compared == "whole" else "the same counts, and the same content in samples"
    head = Text(f"Copied in {seconds(report.seconds)} ({report.method}); both graphs have {equal}.")
    content = plain(("", "count"), report.counts.items(), right=("count",))
    return Group(head, Text(), content, Text(f"fingerprint {report.fingerprint[:16]}", style="dim"))


def _purpose(template: Template) -> Text:
    text = Text(clean(template.purpose))
    takes = ", ".join(f"{name}: {type_}" for name, type_ in template.parameters.items())
    text.append(f"\n{takes}" if takes else "", style="dim")
    return text


def _verdict(each: Replayed) -> Text:
    if each.error:
        return Text(clean(each.error), style="red")
    return Text("the same", style="green") if each.same else Text("different", style="red")
