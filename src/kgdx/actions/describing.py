"""Actions that say in words: what diseases are, what sources say of them, and what was found in another language."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from kgdx.actions.entities import Name, NameList, ids_of, looked_up, resolve
from kgdx.actions.retrieving import retrieve
from kgdx.answer.artifacts import Described, Named, Ranked, Retrieved, Understood, ranking_of, resolved_of
from kgdx.answer.passages import passages, sentences_of
from kgdx.answer.wants import TEXTS
from kgdx.episode.operations import Operations
from kgdx.episode.state import Artifact, Reads, State
from kgdx.episode.wish import Action
from kgdx.errors import StoreError
from kgdx.graph.protocol import Row
from kgdx.lazy import lazy_pattern
from kgdx.results.cited import Description, MeshHeading
from kgdx.terms.normalise import bare, has_chinese

if TYPE_CHECKING:
    from kgdx.terms.names.mesh_index import MeshDecision

MAX_DISEASES = 20
"""Most diseases that one request describes."""

_TEXT_CHARS = 2_000
FINDINGS = ("Disease", "Symptom", "Phenotype")
"""Classes of what a passage may name."""
_GIVEN = lazy_pattern(r"^([^（(。]{1,40})[（(]\s*([A-Za-z][A-Za-z0-9 ,'’\-]{2,80}?)\s*(?:[，,;；、][^）)]{0,80})?[）)]")
"""The English name that Chinese texts give in brackets behind the name they begin with."""


class Describe(Action):
    """Look up what diseases are: names, description, and MeSH heading with scope note and tree numbers."""

    name: ClassVar[str] = "describe"
    makes: ClassVar[type[Artifact]] = Described

    diseases: Annotated[tuple[str, ...], Field(max_length=MAX_DISEASES)] | None = None
    """Ids of diseases, or names; those that were named or found so far when absent."""

    mesh: bool = True
    """Whether to look for their MeSH headings."""

    @property
    def reads(self) -> tuple[Reads, ...]:
        return (Retrieved, Ranked) if self.diseases is None else ()

    def run(self, graph: Operations, view: State) -> Described | None:
        asked = named(view) if self.diseases is None else self.diseases
        ids = (id for each in asked for id in ((each,) if ":" in each else looked_up(graph, each, ("Disease",)).ids))
        wanted = list(dict.fromkeys(ids))[:MAX_DISEASES]
        if not wanted:
            return None
        rows = graph.query("descriptions_of_diseases", diseases=wanted)
        headings = _headings(graph, rows) if self.mesh else {}
        found = {row["id"]: _description(row, headings.get(row["id"])) for row in rows}
        return Described(tuple(found[id] for id in wanted if id in found))


def named(state: State) -> tuple[str, ...]:
    """Return the diseases that an answer will speak of: those that were named, then the best that were found."""
    asked = (id for each in resolved_of(state) if "Disease" in each.kinds for id in each.ids)
    ranking = ranking_of(state)
    ranked = (each.id for each in (() if ranking is None else ranking.candidates)[:3])
    inferred = (
        row["id"]
        for found in state.all(Retrieved)
        if found.template.startswith("infer_diseases")
        for row in found.rows[:3]
        if isinstance(row.get("id"), str)
    )
    return tuple(dict.fromkeys((*asked, *ranked, *inferred)))[:MAX_DISEASES]


def _description(row: Row, mesh: MeshHeading | None) -> Description:
    names = [row["name"], row["name_zh"], *row["synonyms"]]
    text = " ".join((row["text"] or "").split())
    text = text if len(text) <= _TEXT_CHARS else text[: _TEXT_CHARS - 1] + "…"
    return Description(row["id"], tuple(dict.fromkeys(filter(None, names))), text, row["source"] or "", mesh)


def _headings(graph: Operations, rows: Sequence[Row]) -> dict[str, MeshHeading]:
    """The MeSH headings of diseases: those that the graph states, and otherwise those that their names have."""
    ids = [row["id"] for row in rows]
    stated = graph.query("mesh_of_diseases", diseases=ids)
    found: dict[str, MeshHeading] = {}
    for row in sorted(stated, key=lambda row: (row["relation"] != "exact", -(row["score"] or 0.0))):
        found.setdefault(row["disease"], _stated(row))
    missing = [row for row in rows if row["id"] not in found]
    if not missing:
        return found
    headings = graph.graph.headings
    decided: dict[str, MeshDecision] = {}

    def decide() -> dict[str, MeshDecision]:
        for row in missing:
            if decision := headings.decide(tuple(dict.fromkeys(_english(row)))):
                decided[row["id"]] = decision
        return decided

    try:
        graph.tool("mesh", {"diseases": len(missing)}, decide, len)
    except StoreError as error:  # what the graph says of the diseases stands without headings
        graph.problem("mesh", error)
    chosen = sorted({decision.id for decision in decided.values() if decision.id})
    details: dict[str, Row] = {}
    if chosen:
        details = {row["id"]: row for row in graph.query("mesh_by_ids", descriptors=chosen)}
    return found | {id: _looked_up(decision, details) for id, decision in decided.items()}


def _english(row: Row) -> Iterator[str]:
    """English names of a disease: MeSH has no others."""
    yield from (name for name in (row["name"], *row["synonyms"]) if name and name.isascii())
    given = _GIVEN.match(row["text"] or "")
    if given and given[1].strip() in (row["name"], row["name_zh"], *row["synonyms"]):
        yield given[2]


def _stated(row: Row) -> MeshHeading:
    return MeshHeading(
        id=row["id"],
        heading=row["heading"],
        scope_note=_line(row["scope_note"]),
        tree_numbers=tuple(row["tree_numbers"]),
        relation=row["relation"] or "",
        method=row["method"] or "",
        score=row["score"] or 0.0,
        origin="graph",
        decision=_record(row["decision"]),
    )


def _looked_up(decision: MeshDecision, details: Mapping[str, Row]) -> MeshHeading:
    told = details.get(decision.id or "", {})
    return MeshHeading(
        id=decision.id or "",
        heading=decision.heading or "",
        scope_note=_line(told.get("scope_note")),
        tree_numbers=tuple(told.get("tree_numbers") or ()),
        relation=decision.relation or "",
        method=decision.method or "",
        score=decision.score,
        origin="name",
        decision=decision.to_dict(),
    )


def _record(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {"text": text}
    return found if isinstance(found, dict) else {"record": found}


def _line(text: str | None) -> str:
    return " ".join((text or "").split())


def _known(about: str) -> str:
    if about not in TEXTS:
        raise ValueError(f"one of {', '.join(TEXTS)}")
    return about


class GetPassage(Action):
    """Sentences of definitions and articles that say of diseases what no relation states, such as their cause."""

    name: ClassVar[str] = "get_passage"
    aliases: ClassVar[tuple[str, ...]] = ("GET_PASSAGE", "get_passages", "get_text", "get_description")
    makes: ClassVar[type[Artifact]] = Retrieved

    diseases: NameList
    """Names of diseases in Chinese or English, or ids."""

    about: Annotated[str, AfterValidator(_known), Field(json_schema_extra={"enum": [*filter(TEXTS.get, TEXTS)]})]
    """What they are to be about."""

    naming: NameList | None = None
    """Passages that name one of these, whatever they are about."""

    limit: Annotated[int, Field(ge=1, le=20)] = 3
    """Most passages of each disease."""

    def run(self, graph: Operations, view: State) -> Retrieved:
        found = resolve(graph, self.diseases, ("Disease",))
        arguments = {"diseases": ids_of(found)}
        texts = retrieve(graph, self, "texts_of_diseases", arguments, found)
        articles = graph.query("articles_of_diseases", **arguments)
        rows = (*texts.rows, *({**row, "kind": "article"} for row in articles))
        if self.naming is not None:
            known = (graph.graph.names.resolve(name, FINDINGS) for name in self.naming)
            said = [name.casefold() for each in known for name in (each.given, *each.names)]
            pieces = ({**row, "text": text} for row in rows for text in sentences_of(row["text"]))
            told = (row for row in pieces if any(name in row["text"].casefold() for name in said))
            return replace(texts, rows=tuple({**row, "about": self.about} for row in told)[: self.limit])
        called = {each.given.casefold() for each in found}
        named = [row for row in rows if (row["disease_name"] or "").casefold() in called]
        return replace(texts, rows=tuple(passages(rows, self.about, self.limit, [row["disease"] for row in named])))


class GetDefinition(Action):
    """What a finding of the Human Phenotype Ontology is, in its words."""

    name: ClassVar[str] = "get_definition"
    aliases: ClassVar[tuple[str, ...]] = ("GET_DEFINITION", "define")
    makes: ClassVar[type[Artifact]] = Retrieved

    phenotype: Name
    """A finding in Chinese or English, or its id."""

    def run(self, graph: Operations, view: State) -> Retrieved:
        found = resolve(graph, (self.phenotype,), ("Phenotype",))
        made = retrieve(graph, self, "phenotype_by_id", {"phenotype": found[0].ids[0]}, found)
        told = ({"text": row["definition"], "kind": "definition", "source": "hp"} for row in made.rows)
        about = {"disease": found[0].ids[0], "disease_name": found[0].names[0], "about": "definition"}
        return replace(made, rows=tuple({**about, **row} for row in told if row["text"]))


class GetEntry(Action):
    """What diseases or findings are called: ids, names, synonyms, and findings one step above and below."""

    name: ClassVar[str] = "get_entry"
    aliases: ClassVar[tuple[str, ...]] = ("GET_ENTRY", "get_entries", "get_names", "get_synonyms")
    makes: ClassVar[type[Artifact]] = Retrieved

    names: NameList
    """Names in Chinese or English, or ids."""

    def run(self, graph: Operations, view: State) -> Retrieved:
        found = resolve(graph, self.names, ("Disease", "Phenotype"))
        ids = ids_of(found)
        diseases = graph.query("descriptions_of_diseases", diseases=[id for id in ids if not id.startswith("HP:")])
        entries = [{name: row[name] for name in ("id", "name", "name_zh", "synonyms")} for row in diseases]
        for row in entries:
            row["same_as"] = [id for each in found if row["id"] in each.ids for id in each.ids if id != row["id"]]
        for id in [id for id in ids if id.startswith("HP:")][:MAX_DISEASES]:
            (row,) = graph.query("phenotype_by_id", phenotype=id) or ({},)
            told = {name: row.get(name) for name in ("id", "name", "name_zh", "synonyms", "definition")}
            for place, template in (("above", "phenotype_ancestors"), ("below", "phenotype_descendants")):
                near = graph.query(template, phenotypes=[id])
                told[place] = [f"{each['name']} ({each['id']})" for each in near if each["steps"] == 1]
            entries.append(told)
        return Retrieved("entry", {"names": list(self.names)}, tuple(entries), self.name, found)


MAX_NAMED = 400
"""Most entities that one request names."""


class NameFound(Action):
    """Look up what the entities that were found are called in English and in Chinese."""

    name: ClassVar[str] = "name_found"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Named

    @property
    def reads(self) -> tuple[Reads, ...]:
        return (Retrieved, Understood)

    def run(self, graph: Operations, view: State) -> Named:
        phenotypes, symptoms, diseases = (list(ids)[:MAX_NAMED] for ids in _ids_found(view))
        called: dict[str, Mapping[str, str]] = {}
        if phenotypes:
            rows = graph.query("phenotypes_by_ids", phenotypes=phenotypes)
            called |= {row["id"]: _in_both(row["name"], row["name_zh"]) for row in rows}
        if symptoms:
            for row in graph.query("phenotypes_of_symptoms", symptoms=symptoms):
                called.setdefault(row["symptom"], _in_both(row["name"], row["name_zh"]))
        if diseases:
            rows = graph.query("descriptions_of_diseases", diseases=diseases)
            joined = graph.query("same_as_of_diseases", diseases=diseases)
            same = {row["disease"]: row["name"] for row in joined if row["relation"] == "exact"}
            for row in rows:
                names = (row["name"], row["name_zh"], same.get(row["id"]), *row["synonyms"])
                called[row["id"]] = _in_both(*(name for name in names if name and name != row["id"]))
        return Named(called)


def _ids_found(state: State) -> tuple[dict[str, None], dict[str, None], dict[str, None]]:
    phenotypes, symptoms, diseases = dict[str, None](), dict[str, None](), dict[str, None]()
    for found in state.all(Retrieved):
        template, rows = found.template, found.rows
        for each in found.resolved:
            if "Disease" in each.kinds:
                diseases |= dict.fromkeys(each.ids)
        if template == "phenotypes_of_diseases":
            phenotypes |= dict.fromkeys(row["id"] for row in rows)
        elif template == "symptoms_of_diseases":
            symptoms |= dict.fromkeys(row["id"] for row in rows)
        elif template.startswith("infer_diseases") or template == "comorbidities_of_diseases":
            diseases |= dict.fromkeys(row["id"] for row in rows)
    return phenotypes, symptoms, diseases


def _in_both(*names: str | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        if name:
            found.setdefault("zh" if has_chinese(name) else "en", bare(name))
    return found
