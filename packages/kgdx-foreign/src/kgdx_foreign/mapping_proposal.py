"""A first mapping for a database, proposed from its own names, and the check whether a mapping fits it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kgdx.config import Neo4jAccess
from kgdx.graph.protocol import Row
from kgdx.schema import Schema, load_schema
from kgdx.schema.model import PREDICTED
from kgdx_foreign.database_mapping import ForeignMapping
from kgdx_foreign.mapped_store import ForeignDatabase, ForeignStore

_CLASSES: Mapping[str, str] = {
    "Disease": r"disease|disorder|illness|diagnos|疾病|^病$",
    "Symptom": r"symptom|complaint|症状|体征",
    "Phenotype": r"phenotype|hpo|表型",
    "Test": r"check|test|exam|inspection|检查|检验|化验",
    "Drug": r"drug|medicine|medication|药",
    "Cure": r"cure|treat|therap|治疗|疗法",
    "Gene": r"gene|基因",
}
"""Class → how labels for it are called; the first that fits counts."""

_RELATIONS: Mapping[str, str] = {
    "HAS_SYMPTOM": r"symptom|症状|表现",
    "HAS_PHENOTYPE": r"phenotyp|表型",
    "HAS_COMORBIDITY": r"acc?ompan|comorbid|complication|并发|合并|伴",
    "RECOMMEND_TEST": r"check|test|exam|检查|检验",
    "CONTRAINDICATION": r"contraindic|禁忌|禁用",
    "OFF_LABEL_USE": r"off.?label|超说明书",
    "INDICATION": r"indication|适应",
    "RECOMMEND_DRUG": r"drug|medic|treat|recomm|用药|药",
    "RECOMMEND_CURE": r"cure|treat|therap|治疗|疗法",
    "ASSOCIATED_GENE": r"gene|associat|基因",
    "IS_A": r"^is_?a$|subclass|parent|属于|上位",
    "SAME_AS": r"same|equival|alias|同义",
}
"""Relation → how types, and lists on nodes, for it are called."""

_TEXTS: Mapping[str, str] = {
    "name": r"^(?:name|title|label|名称|名字)$",
    "definition": r"^(?:desc(?:ription)?|definition|intro\w*|summary|简介|描述|定义)$",
    "synonyms": r"^(?:synonyms?|alias(?:es)?|别名|同义词)$",
    "name_zh": r"^(?:name_zh|name_cn|chinese_name|中文名)$",
}
_KEYS = r"(?i)(?:^|_)(?:id|code|cui|curie|编号|编码)$"


@dataclass(slots=True)
class _Found:
    """What was recognised so far: of nodes the label, key and properties, of relations types or a list."""

    nodes: dict[str, tuple[list[str], str, dict[str, str]]] = field(default_factory=dict)
    relations: dict[str, tuple[list[str], bool]] = field(default_factory=dict)
    lists: dict[str, str] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)


def propose(database: ForeignDatabase, source: str = "mine") -> str:
    """Return a mapping file for a database; what is not recognised stands in comments."""
    found, schema = _Found(), load_schema()
    lists: list[tuple[str, str]] = []
    for label in database.labels():
        rows = database.ask("their_properties", label=label)
        kind = _named(label, _CLASSES)
        key = _key(rows)
        if kind is None or key is None:
            found.left.append(f"label {_said(label)}: " + ("no property tells its nodes apart" if kind else "unknown"))
        elif kind in found.nodes:
            found.left.append(f"label {_said(label)}: {kind} is {_said(found.nodes[kind][0][0])} already")
        else:
            found.nodes[kind] = ([label], key, _texts(rows, key, schema, kind))
            lists += [(kind, row["name"]) for row in rows if str(row["type"]).startswith("LIST<STRING")]
    for type in database.types():
        _relate(found, type, database.ask("their_ends", type=type), schema)
    for kind, name in lists:
        _list(found, kind, name, schema)
    return "\n".join(_lines(found, source)) + "\n"


def _named(name: str, known: Mapping[str, str], among: Sequence[str] | None = None) -> str | None:
    fits = (ours for ours, words in known.items() if re.search(words, name, re.IGNORECASE))
    return next((ours for ours in fits if among is None or ours in among), None)


def _key(rows: Sequence[Row]) -> str | None:
    """The property that tells nodes apart: text that all of a sample have, each of its own."""
    most = max((row["n"] for row in rows), default=0)
    unique = [
        row["name"]
        for row in rows
        if str(row["type"]).startswith("STRING") and row["n"] == most and row["distinct"] == most
    ]
    by_id = [name for name in unique if re.search(_KEYS, name)]
    by_name = [name for name in unique if re.search(_TEXTS["name"], name, re.IGNORECASE)]
    return next(iter([*by_id, *by_name, *unique]), None)


def _texts(rows: Sequence[Row], key: str, schema: Schema, kind: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for row in rows:
        ours = _named(row["name"], _TEXTS)
        known = {**schema.nodes[kind].properties}
        if ours is None or ours in found or ours not in known or row["name"] == key:
            continue
        if known[ours].is_list == str(row["type"]).startswith("LIST"):
            found[ours] = row["name"]
    return found


def _relate(found: _Found, type: str, ends: Sequence[Row], schema: Schema) -> None:
    by_label = {label: kind for kind, (labels, _, _) in found.nodes.items() for label in labels}
    joined = (by_label.get(ends[0]["start"]), by_label.get(ends[0]["end"])) if ends else (None, None)
    shown = f"type {_said(type)}" + (f" ({ends[0]['start']!s:.40} to {ends[0]['end']!s:.40})" if ends else "")
    if None in joined:
        found.left.append(f"{_flat(shown)}: joins what is not mapped" if ends else f"{_flat(shown)}: there are none")
        return
    stated = [relation for name, relation in schema.relations.items() if name != PREDICTED]
    straight = [relation.name for relation in stated if joined in relation.ends]
    turned = [relation.name for relation in stated if joined[::-1] in relation.ends]
    ours = _named(type, _RELATIONS, [*straight, *turned])
    if ours is None and len(straight) == 1:
        ours = straight[0]
    if ours is None:
        found.left.append(f"{_flat(shown)}: perhaps {', '.join(straight or turned) or 'nothing that the ontology has'}")
        return
    reversed = ours not in straight
    types, before = found.relations.setdefault(ours, ([], reversed))
    if before != reversed:
        found.left.append(f"{_flat(shown)}: {ours}, but it points the other way than {_said(types[0])}")
    else:
        types.append(type)


def _list(found: _Found, kind: str, name: str, schema: Schema) -> None:
    ours = _named(name, _RELATIONS)
    if ours is None or ours in found.relations or ours in found.lists:
        return
    others = [end if start == kind else start for start, end in schema.relations[ours].ends if kind in (start, end)]
    if others and all(other not in found.nodes for other in others):
        found.lists[ours] = name


def _lines(found: _Found, source: str) -> Iterator[str]:
    yield "# Which names of this database stand for what in kgdx's ontology. A proposal: look at each line, then run"
    yield "# `kgdx neo4j mapping check`."
    yield "mapping: 1"
    yield f"source: {_said(source)}"
    yield "# language: zh"
    yield "nodes:" if found.nodes else "nodes: {}"
    for kind, (labels, key, properties) in found.nodes.items():
        told = ", ".join(f"{ours}: {_said(theirs)}" for ours, theirs in properties.items())
        yield f"  {kind}: {{label: {_said(labels[0])}, key: {_said(key)}" + (
            f", properties: {{{told}}}}}" if told else "}"
        )
    if found.relations or found.lists:
        yield "relations:"
    for ours, (types, reversed) in found.relations.items():
        yield f"  {ours}: {{type: [{', '.join(map(_said, types))}]{', reversed: true' if reversed else ''}}}"
    for ours, name in found.lists.items():
        yield f"  {ours}: {{list: {_said(name)}}}"
    if found.left:
        yield "# Not recognised:"
    for line in found.left:
        yield f"#   {line}"


def _said(name: str) -> str:
    return json.dumps(name, ensure_ascii=not name.isprintable())


def _flat(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)


# Whether a mapping fits its database: how much there is of each name, what tells nodes apart, what can be asked.


ASKED = (
    *(f"{what}_of_diseases" for what in ("symptoms", "tests", "drugs", "cures", "comorbidities")),
    *(f"infer_diseases_by_{what}" for what in ("symptoms", "tests", "drugs", "cures", "comorbidities")),
)
"""Templates of the ten actions."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One line of a mapping against its database."""

    name: str
    theirs: str
    n: int
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found."""

    lines: tuple[Checked, ...]
    can: tuple[str, ...]
    cannot: tuple[str, ...]

    @property
    def faults(self) -> tuple[Checked, ...]:
        return tuple(line for line in self.lines if line.fault)

    def to_dict(self) -> dict[str, object]:
        """Return it as a JSON object."""
        lines = [{"name": x.name, "theirs": x.theirs, "n": x.n, "fault": x.fault} for x in self.lines]
        return {"lines": lines, "can": list(self.can), "cannot": list(self.cannot)}


def check(access: Neo4jAccess, mapping: ForeignMapping) -> Report:
    """Hold a mapping against its database."""
    with ForeignDatabase(access) as database:
        store = ForeignStore(database, mapping)
        store.verify()
        lines = (*_nodes(database, mapping), *_relations(database, store))
        can = tuple(name for name in ASKED if store.answers(name))
    return Report(lines, can, tuple(name for name in ASKED if name not in can))


def _nodes(database: ForeignDatabase, mapping: ForeignMapping) -> Iterator[Checked]:
    for kind, node in mapping.nodes.items():
        for label in node.label:
            found = database.ask("their_nodes", label=label, key=node.key)[0]
            n, fault = found["n"], ""
            if not n:
                fault = "there are none"
            elif found["text"] < found["present"]:
                fault = f"{node.key} is not text in {found['present'] - found['text']:,} of them: choose another key"
            elif found["present"] < n:
                fault = f"{n - found['present']:,} have no {node.key} and are left out"
            elif found["distinct"] < n:
                fault = f"{n - found['distinct']:,} share their {node.key} with others and count as one"
            yield Checked(kind, f"(:{label} {node.key})", n, fault)


def _relations(database: ForeignDatabase, store: ForeignStore) -> Iterator[Checked]:
    schema, counted = load_schema(), store.counts()
    for name, relation in store.mapping.relations.items():
        n = counted.get(name, 0)
        if relation.list is not None:
            yield Checked(name, f"list {relation.list}", n, "" if n else "no node has such a list")
            continue
        for type in relation.type or ():
            there = database.ask("their_relations", type=type)[0]["n"]
            fault = "there are none"
            if there and not n:
                pairs = " or ".join(f"{start} to {end}" for start, end in schema.relations[name].ends)
                fault = f"none goes from {pairs}: is it `reversed`, or another label?"
            arrow = f"<-[:{type}]-" if relation.reversed else f"-[:{type}]->"
            yield Checked(name, arrow, there, fault if not (there and n) else "")
