"""The Chinese medical knowledge graph in the widely used ``medical.json``: a disease a line, with what is said of it.

Diseases, symptoms, tests, drugs and treatments are known by their names only, so their ids are minted from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import RecordBuilder, Records
from kgdx.ingest.sources.json_records import MAX_TEXT, documents, phrase, problem_of_phrase, prose

VERSION = "2"

_TEXTS = {
    "desc": "definition",
    "cause": "cause",
    "prevent": "prevention",
    "get_way": "transmission",
    "easy_get": "susceptible",
    "get_prob": "incidence",
    "cure_lasttime": "treatment_duration",
    "cured_prob": "cure_rate",
    "cost_money": "treatment_cost",
}
_LISTS = {
    "category": "categories",
    "cure_department": "departments",
    "do_eat": "foods_good",
    "not_eat": "foods_bad",
    "recommand_eat": "dishes",
}
_INSURED = "yibao_status"
_YES_NO = {"是": True, "否": False}
_STATEMENTS = {"symptom": "symptom", "check": "test", "cure_way": "cure", "acompany": "comorbidity"}
_DRUGS = ("common_drug", "recommand_drug")
_PRODUCTS = "drug_detail"
_READ = {"name", _INSURED, _PRODUCTS, *_TEXTS, *_LISTS, *_STATEMENTS, *_DRUGS}
_TRIED = "-测试"
"""How names end of records that somebody tried the database with: copies of others, which they are merged with."""
_MEANINGLESS = {"_id"}
"""The database's own key: it says nothing of the disease and is not kept."""

FRAMES = {
    "disease": " ".join(
        ["name synonyms:strings", *_TEXTS.values(), *(f"{each}:strings" for each in _LISTS.values()), "insured:bool"]
    ),
    **dict.fromkeys(_STATEMENTS.values(), "disease name"),
    "drug": "disease name reference",
    "medicine": "name products:strings",
}

_SEPARATORS = re.compile(r"[、，,;；|\n]+|\s{2,}")
_FOREIGN = re.compile(r"[^(（。]{1,30}[(（](?P<names>[^()（）]*[A-Za-z]{3}[^()（）]*)[)）]")
_PRODUCT = re.compile(r"(?P<product>.+?)[(（](?P<drug>[^()（）]+)[)）]")


def read(path: Path, manifest: Manifest) -> Records:
    """Read the file as the frames ``disease``, one for each kind of statement, and ``medicine`` (drugs' products).

    A value may be a text where others are lists, empty, doubled or junk; what cannot be used is refused by itself.
    """
    building = RecordBuilder(FRAMES)
    products: dict[str, dict[str, None]] = {}
    first: dict[str, int] = {}
    unread: set[str] = set()
    for line, document in documents(path, building, ("name",)):
        name = _name(line, document, building)
        if name is None:
            continue
        unread |= document.keys() - _READ - _MEANINGLESS
        _disease(line, name, document, building)
        for key, frame in _STATEMENTS.items():
            found = _phrases(line, document, key, building, f"frame:{frame}", disease=name)
            for each in found:
                building.add(frame, line, name, each)
        for key in _DRUGS:
            for drug in _phrases(line, document, key, building, "frame:drug", disease=name):
                building.add("drug", line, name, drug, key)
                products.setdefault(drug, {})
                first.setdefault(drug, line)
        for sold in _phrases(line, document, _PRODUCTS, building, "frame:drug", disease=name):
            drug = _drug_of(sold)
            building.add("drug", line, name, drug, _PRODUCTS)
            products.setdefault(drug, {})[sold] = None
            first.setdefault(drug, line)
    for drug, its_products in products.items():
        building.add("medicine", first[drug], drug, list(its_products))
    warnings = [f"fields that are not read: {', '.join(sorted(unread)[:20])}"] if unread else []
    return building.records(warnings=warnings)


def _name(line: int, document: dict[str, Any], building: RecordBuilder) -> str | None:
    given = document.get("name")
    if not isinstance(given, str):
        building.refuse(line, document, f"its name is {_kind(given)}, not text" if given else "it has no name")
        return None
    name = phrase(_mended(given)).removesuffix(_TRIED)
    if reason := problem_of_phrase(name):
        building.refuse(line, document, f"its name cannot be one: {reason}")
        return None
    return name


def _disease(line: int, name: str, document: dict[str, Any], building: RecordBuilder) -> None:
    texts = [_text(line, document, key, building) for key in _TEXTS]
    lists = [list(dict.fromkeys(_phrases(line, document, key, building, None, disease=name))) for key in _LISTS]
    insured = _text(line, document, _INSURED, building)
    if insured is not None and insured not in _YES_NO:
        building.refuse(line, {"disease": name, _INSURED: insured}, f"{_INSURED} is '{insured[:40]}', not 是 or 否")
    synonyms = english_names(texts[0] or "")
    building.add("disease", line, name, synonyms, *texts, *lists, _YES_NO.get(insured or ""))


def english_names(definition: str) -> list[str]:
    """Return the foreign names of a disease, which stand in the first brackets of its definition."""
    found = _FOREIGN.match(definition)
    names = [each.strip() for each in re.split(r"[,，;；、]", found["names"])] if found else []
    return [each for each in names if re.fullmatch(r"[A-Za-z][A-Za-z0-9 '’./-]{2,99}", each)]


def _text(line: int, document: dict[str, Any], key: str, building: RecordBuilder) -> str | None:
    value = document.get(key)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = "\n".join(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        building.refuse(line, {"name": document["name"], key: value}, f"{key} is {_kind(value)}, not text")
        return None
    if len(value) > MAX_TEXT:
        building.refuse(line, {"name": document["name"], key: value[:200]}, f"{key} has {len(value):,} characters")
        return None
    return prose(_mended(value)) or None


def _phrases(
    line: int, document: dict[str, Any], key: str, building: RecordBuilder, part: str | None, disease: str
) -> Iterator[str]:
    value = document.get(key)
    if value is None:
        return
    items = _SEPARATORS.split(value[:MAX_TEXT]) if isinstance(value, str) else value
    if not isinstance(items, list):
        building.refuse(line, {"disease": disease, key: value}, f"{key} is {_kind(value)}, not a list")
        return
    for item in items:
        row = {"disease": disease, "name": item}
        if not isinstance(item, str):
            building.refuse(line, row, f"a member of {key} is {_kind(item)}, not text", part)
            continue
        if not item.strip():
            continue
        words = phrase(_mended(item[:MAX_TEXT]))
        if reason := problem_of_phrase(words):
            building.refuse(line, row, f"a member of {key} cannot be a name: {reason}", part)
        else:
            yield words


def _drug_of(product: str) -> str:
    found = _PRODUCT.fullmatch(product)
    drug = phrase(found["drug"]) if found else product
    return product if problem_of_phrase(drug) else drug


def _mended(text: str) -> str:
    if text.isascii() or not all("\xa1" <= char <= "\xff" or char.isascii() for char in text):
        return text
    try:
        mended = text.encode("latin-1").decode("gbk")
    except UnicodeDecodeError:
        return text
    return mended if any("\u4e00" <= char <= "\u9fff" for char in mended) else text


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
