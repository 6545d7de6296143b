"""The graph itself in the terminal: templates, rows, servers, copies, the ontology, decisions about names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.render.terminal.console import Flow, plain
from kgdx.results.predicted import Neighbours, Node, Prediction, Predictions
from kgdx.results.words import clean, count, seconds
from kgdx.schema import NodeClass, Relation, Schema, relation_words

if TYPE_CHECKING:
    from kgdx.episode import Replayed
    from kgdx.graph.copies import CopyReport
    from kgdx.graph.neo4j.import_files import Exported
    from kgdx.graph.neo4j.local_server import ServerInfo
    from kgdx.graph.neo4j.schema_statements import Misfit
    from kgdx.graph.templates import Template
    from kgdx.ingest.pipeline.build_files import Verified
    from kgdx.terms.names.mesh_index import MeshDecision

STATUSES = {
    "manual": "by people's decision",
    "accepted": "accepted by people",
    "rejected": "rejected by people",
    "automatic": "stated",
    "ambiguous": "open: two candidates are equally good",
    "below": "open: below the threshold",
    "taken": "open: a better one took the candidate",
    "conflict": "open: does not go with others",
    "absent": "decided, but one side is not in the graph",
}
"""What the statuses of a review mean."""


def rows(columns: Sequence[str], found: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Return rows of a template: a table, or a block for each row where the columns would not fit."""
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
    """Return all templates: name, purpose, parameters."""
    parts: list[RenderableType] = []
    for kind, heading in (("read", "Read templates (kgdx run NAME …)"), ("write", "Write templates")):
        chosen = sorted((each for each in found if each.kind == kind), key=lambda each: each.name)
        if chosen:
            lines = [(Text(each.name, style="bold"), _purpose(each)) for each in chosen]
            parts += [Text(heading), plain(("", ""), lines), Text()]
    return Group(*parts[:-1])


def template_details(template: Template) -> RenderableType:
    """Return one template with its parameters and columns; the caller prints its Cypher verbatim."""
    takes = "\n".join(f"  {name}: {type_}" for name, type_ in template.parameters.items()) or "  nothing"
    returns = ", ".join(template.columns) or "nothing"
    return Group(
        Text(f"{template.name} ({template.kind})", style="bold"),
        Text(clean(template.purpose)),
        Text(f"\nTakes\n{takes}\nReturns\n  {returns}"),
    )


def replayed(found: Iterable[Replayed]) -> RenderableType:
    """Return the queries of a saved run: what they returned then and return now."""
    table = plain(
        ("Template", "then", "now", ""),
        [(each.template, each.recorded, each.rows, _verdict(each)) for each in found],
        right=("then", "now"),
    )
    return table if table.row_count else Text("The run recorded no queries.")


def server(info: ServerInfo) -> RenderableType:
    """Return where a local Neo4j listens and how to sign in."""
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
    """Return what was copied between stores, how, and how it was compared."""
    equal = "the same content." if report.compared == "whole" else "the same counts, and the same content in samples."
    if report.left_out:
        equal = "the same content but for what the ontology has no place for, which was left out:"
    head = Text(f"Copied in {seconds(report.seconds)} ({report.method}); both graphs have {equal}")
    left_out = [Text(clean(f"  {each}"), style="bold") for each in report.left_out]
    if report.carried:
        nodes = ", ".join(f"{n} {name}" for name, n in report.carried.items())
        left_out.append(Text(f"Carried over what users had saved there: {nodes}."))
    if report.aside:
        left_out.append(Text("The graph has no place for these, which the server keeps aside for a later copy:"))
        left_out += [Text(clean(f"  {each}"), style="bold") for each in report.aside]
    content = plain(("", "count"), report.counts.items(), right=("count",))
    return Group(head, *left_out, Text(), content, Text(f"fingerprint {report.fingerprint[:16]}", style="dim"))


def exported(report: Exported) -> RenderableType:
    """Return what was written for an import elsewhere."""
    size = f"{report.bytes / 1e6:,.0f} MB"
    head = Text(f"Written in {seconds(report.seconds)}, {size}; README.md there tells what to do.")
    content = plain(("", "count"), report.counts.items(), right=("count",))
    return Group(head, Text(), content, Text(f"fingerprint {report.fingerprint[:16]}", style="dim"))


def verified(found: Verified) -> RenderableType:
    """Return what a comparison of a graph's files with their digests has found."""
    lines = [Text(f"{found.files:,} files, {found.bytes / 1e6:,.0f} MB: {len(found.faults) or 'none'} damaged")]
    lines += [Text(clean(fault), style="bold") for fault in found.faults]
    lines += [Text(clean(f"{part} is damaged and made again when it is next needed")) for part in found.again]
    lines += [Text(clean(remark), style="dim") for remark in found.unchecked]
    return Group(*lines)


def conformance(misfits: Sequence[Misfit]) -> RenderableType:
    head = "Not conforming to the ontology:" if misfits else "All that it holds conforms to the ontology."
    return Group(Text(head), *(Text(clean(f"  {each}"), style="bold") for each in misfits))


def by_status(statuses: Iterable[str]) -> list[str]:
    """Say how many mappings have each status, most first.

    Example:
        >>> by_status(["automatic", "below", "automatic"])
        ['       2  automatic   stated', '       1  below       open: below the threshold']
    """
    return [
        f"{number:>8,}  {status:<10}  {STATUSES.get(status, '')}".rstrip()
        for status, number in Counter(statuses).most_common()
    ]


def mesh_decision(found: MeshDecision) -> RenderableType:
    """Return what was decided, why, and what else was considered."""
    stated = f"{found.id} {found.heading} ({found.relation}, {found.score:.2f})" if found.id else "no descriptor"
    release = f"MeSH {found.version}" if found.version else f"descriptors {found.checksum[:12]}"
    lines = [Text(clean(f"{found.name}: {stated}"), style="bold"), Text(clean(f"{found.reason}; {release}"))]
    rows = [(c.id, c.heading, c.matched, c.method, f"{c.score:.2f}") for c in found.candidates]
    considered = [plain(("id", "heading", "matched", "method", "score"), rows, right=("score",))] if rows else []
    return Group(*lines, *considered)


def ontology(schema: Schema) -> RenderableType:
    """Return all node classes and relations, one line each."""
    nodes = plain(
        ("Class", "What it is"),
        [
            (Text(each.name, style="bold"), _said(each.definition, f"ids {', '.join(each.prefixes) or 'of any form'}"))
            for each in schema.nodes.values()
        ],
    )
    relations = plain(
        ("Relation", "What it says"),
        [(Text(each.name, style="bold"), _said(each.definition, _ends(each))) for each in schema.relations.values()],
    )
    head = Text(f"Ontology {schema.version}: {len(schema.nodes)} node classes, {len(schema.relations)} relations")
    return Group(head, Text(), nodes, Text(), relations)


def element(each: NodeClass | Relation) -> RenderableType:
    """Return one class or relation with its properties."""
    facts = [Text(each.name, style="bold"), Text(each.definition), Text()]
    if isinstance(each, Relation):
        facts.append(Text(f"joins       {_ends(each)}"))
        facts.append(Text(f"told apart  by {', '.join(each.identity)}"))
        facts += [Text(f"reads ({name})  {words.label}; back: {words.inverse}") for name, words in each.wording.items()]
    else:
        facts.append(Text(f"ids         {', '.join(each.prefixes) or 'any'}"))
    if each.biolink:
        facts.append(Text(f"Biolink     {each.biolink}"))
    rows = [
        (
            Text(prop.name, style="bold" if prop.required else ""),
            prop.type,
            prop.definition + (f" One of {', '.join(prop.values)}." if prop.values else ""),
        )
        for prop in each.properties.values()
    ]
    return Group(*facts, Text(), plain(("Property", "Type", "Meaning"), rows))


def _said(definition: str, fact: str) -> Text:
    text = Text(f"{definition}\n")
    return text.append(fact, style="dim")


def _ends(relation: Relation) -> str:
    return ", ".join(f"{start} → {end}" for start, end in relation.ends)


def _purpose(template: Template) -> Text:
    text = Text(clean(template.purpose))
    takes = ", ".join(f"{name}: {type_}" for name, type_ in template.parameters.items())
    text.append(f"\n{takes}" if takes else "", style="dim")
    return text


def _verdict(each: Replayed) -> Text:
    if each.error:
        return Text(clean(each.error), style="red")
    return Text("the same", style="green") if each.same else Text("different", style="red")


Card = Mapping[str, Any]


def learned(card: Card) -> RenderableType:
    """Return the card of embeddings: nodes, links, and figures of the held-out links where there are any."""
    network, isolated = clean(card["training"]["encoder"]), card["statistics"]["isolated"]
    best = "" if card["best_epoch"] == card["epochs"] else f", those of epoch {card['best_epoch']} kept"
    epochs = f"{count(card['epochs'], 'epoch')}{best}, {card['seconds']:,.0f} s"
    nodes = [(kind, size, isolated[kind]) for kind, size in card["nodes"].items()]
    links = [
        (name, told["links"], ", ".join(f"{kind} {alone:,}" for kind, alone in told["isolated"].items()))
        for name, told in card["statistics"]["relations"].items()
    ]
    parts: list[RenderableType] = [
        Text(f"{clean(card['name'])}: {network}, {card['width']} wide, seed {card['training']['seed']}; {epochs}"),
        *(Text(), plain(("nodes", "", "without a link"), nodes, right=("", "without a link"))),
        *(Text(), plain(("relation", "links", "nodes without one"), links, right=("links",))),
    ]
    if card["figures"]:
        columns = ("held-out links", "AUC", "AP", "by degree", "by names")
        figures = [
            (
                name,
                *(f"{score:.3f}" for score in (told["auc"], told["ap"], told["degree"]["auc"], told["cosine"]["auc"])),
            )
            for name, told in card["figures"].items()
        ]
        parts += [Text(), plain(columns, figures, right=columns[1:])]
    return Group(*parts)


def progress_line(done: int, most: int, loss: float, auc: float | None) -> str:
    """Return how far a training is.

    Example:
        >>> progress_line(10, 200, 1.25, 0.8512)
        'epoch 10 of 200: loss 1.250, AUC of held-out links 0.851'
    """
    held = "" if auc is None else f", AUC of held-out links {auc:.3f}"
    return f"epoch {done:,} of {most:,}: loss {loss:.3f}{held}"


def predictions(found: Predictions) -> RenderableType:
    """Return the predictions as a table, with what is known beside it."""
    against = found.node.kind != "Disease"
    words = relation_words(found.relation, against=against)
    head = Text(f"{named(found.node)}: {words} …", style="bold")
    has = f"{count(found.known, 'such link')} of it in the graph, {found.candidates:,} nodes to be linked to"
    told = f"Predicted by the embeddings {found.model}; no facts. {has}."
    share = ["" if row.probability is None else f"{100 * row.probability:.1f}%" for row in found.rows]
    rows = [
        (likely, row.score, row.by_degree, "known" if row.known else "", named(row.node), because(row))
        for likely, row in zip(share, found.rows, strict=True)
    ]
    columns = ("probability", "score", "by degree", "", words, "because")
    if not rows:
        return Group(head, Text("nothing that the graph does not state already", style="dim"))
    table = plain(columns, rows, right=("probability", "score", "by degree"))
    hubs = sum(row.by_degree <= len(rows) for row in found.rows)
    facts = [
        "by degree: the place by nothing but how many such links a node has; "
        f"{hubs} of these {len(rows)} are among its first {len(rows)}.",
        "No link was held out of training (--held-out 0): scores order, and no probability can be told."
        if found.calibration_error is None
        else f"Expected calibration error on held-out links: {found.calibration_error:.3f}.",
    ]
    return Group(head, Flow(Text(told, style="dim")), table, *(Flow(Text(each, style="dim")) for each in facts))


def neighbours(found: Neighbours) -> RenderableType:
    """Return the nearest nodes as a table, with what they share."""
    head = Text(f"Nearest to {named(found.node)} by the embeddings {found.model}", style="bold")
    rows = []
    for node, both, n in found.rows:
        more = f" and {n - len(both)} more" if n > len(both) else ""
        rows.append((f"{node.cosine:.3f}", named(node), (_listed(both) + more) if n else "nothing stated of both"))
    return Group(head, plain(("cosine", "", "both have"), rows, right=("cosine",)))


def named(node: Node) -> str:
    """Return a node's name and id.

    Example:
        >>> named(Node("KGDX:1", "Symptom", "fever"))
        'fever (KGDX:1)'
    """
    return f"{clean(node.name)} ({clean(node.id)})"


def because(row: Prediction) -> str:
    """Return what speaks for a predicted link: who is known to have it, and what is known that is like it.

    Example:
        >>> node = Node("KGDX:1", "Symptom", "fever", 0.9)
        >>> because(Prediction(node, 1.0, 0.5, 1, False, (node,), ()))
        'like fever'
    """
    parts = [f"as of {_listed(row.shared)}"] if row.shared else []
    parts += [f"like {_listed(row.similar)}"] if row.similar else []
    return "; ".join(parts) or "its place among all"


def _listed(nodes: Iterable[Node]) -> str:
    return ", ".join(clean(node.name) for node in nodes)
