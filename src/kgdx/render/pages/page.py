"""A result → its page, by templates that escape whatever is put into them, and into a file, whole or not at all.

The page allows itself nothing but its own stylesheet and script, which are named by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

from kgdx.errors import UsageError
from kgdx.files.known import write_whole
from kgdx.render.pages import template_values
from kgdx.results import words
from kgdx.results.cited import AnswerDocument
from kgdx.results.consulted import RECORD_SCHEMA, ConsultationRecord, percent, say
from kgdx.results.document import Result, read
from kgdx.results.ranked import DiagnosisDocument
from kgdx.results.transcript import reranking_words, round_title, tokens
from kgdx.results.view import stated
from kgdx.terms.normalise import read_table

_HERE = Path(__file__).resolve().parent / "templates"
_PARTS = re.compile(r"([,;:] |(?<=\d) )")


def page(document: Result | Mapping[str, Any]) -> str:
    """Return the page of a diagnosis, an answer, or the record of a consultation, or of what its ``to_dict`` returned.

    Example:
        >>> shown = page({"schema": "kgdx.diagnosis/3", "case": {"id": "<b>p</b>"}})
        >>> "<b>" in shown, "&lt;b&gt;p&lt;/b&gt;" in shown
        (False, True)
    """
    return rendered(*_view(document))


def rendered(template: str, values: Mapping[str, Any], own: str = "") -> str:
    """Return a page of one of the templates, with this package's stylesheet and script.

    ``own`` names a further stylesheet, and the script that stands in the place of the common one.
    """
    style = stylesheet() + (_text(f"{own}.css") if own else "")
    code = _text(f"{own}.js") if own else script()
    common = {"style": style, "script": code, "policy": _policy(style, code), "made_by": version("kgdx"), "whole": True}
    html = _environment().get_template(template).render(values, **common)
    return html.encode("utf-8", "replace").decode()  # a lone surrogate, as a broken JSON escape gives it


def fragment(document: Result | Mapping[str, Any]) -> str:
    """Return what stands in a page's ``<main>``, for a page that has :func:`stylesheet` and :func:`script` already.

    The script brings each ``.kgdx-report`` to life that is there when it loads; ``kgdxReport(element)`` does so for one
    that is put in later.

    Example:
        >>> fragment({"schema": "kgdx.diagnosis/3", "case": {"id": "p"}}).lstrip().startswith("<div class=")
        True
    """
    template, values = _view(document)
    html = _environment().get_template(template).render(values, whole=False)
    return html.encode("utf-8", "replace").decode()


@cache
def stylesheet() -> str:
    """Return the style of pages; in a page of another's, all of it is under ``.kgdx-report`` but the colours."""
    return _text("page.css")


@cache
def script() -> str:
    """Return the script of pages: it handles what is there, and writes text, never markup."""
    return _text("page.js")


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _view(document: Result | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    forms: dict[str, type[Result]] = {each.current: each for each in (AnswerDocument, DiagnosisDocument)}
    forms[RECORD_SCHEMA] = ConsultationRecord
    if not isinstance(document, Result):
        schema = document.get("schema") if isinstance(document, Mapping) else None
        if not isinstance(schema, str) or schema not in forms:
            said = f"of the form {schema[:40]}" if isinstance(schema, str) else "without a form"
            raise UsageError(f"no page is made of a document {said}", hint=f"it must be one of {', '.join(forms)}")
        document = read(forms[schema], document)
    if isinstance(document, AnswerDocument):
        return "answer.html", template_values.answer(document)
    if isinstance(document, ConsultationRecord):
        language = document.language or "en"
        return "consultation.html", {
            **{"doc": document, "language": language, "zh": language == "zh"},
            **{"title": say("record", language)},
        }
    assert isinstance(document, DiagnosisDocument)
    return "diagnosis.html", template_values.diagnosis(document)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    environment.filters.update(
        say=in_language,
        link=link,
        web=web,
        clean=words.clean,
        signed=words.signed,
        frequency=words.frequency,
        age=words.age,
        compact=compact,
        reranked=reranking_words,
    )
    environment.globals.update(
        number=lambda value: f"{value:.1f}".removesuffix(".0"),
        count=words.count,
        tests_in_chinese=words.tests_in_chinese,
        STATUS=words.STATUS_WORDS,
        person=words.person,
        stated=stated,
        round_title=round_title,
        tokens=tokens,
        seconds=words.seconds,
        percent=percent,
        say=say,
    )
    return environment


@pass_context
def in_language(context: Context, words: str) -> str:
    if not context.get("zh"):
        return words
    known = _chinese()
    return known.get(words) or "".join(known.get(each, each) for each in _PARTS.split(words))


@cache
def _chinese() -> Mapping[str, str]:
    return {" ": ""} | {words: chinese for words, chinese in read_table(_HERE.parent / "words_zh.tsv")}


def compact(value: Any) -> str:
    """Return JSON for a table's cell: without what is not set.

    Example:
        >>> compact({"top": 10, "language": None, "also": []})
        'top: 10'
    """
    if not isinstance(value, Mapping):
        return words.clean(json.dumps(value, ensure_ascii=False))
    kept = {key: inner for key, inner in value.items() if inner not in (None, [], (), "", False)}
    return ", ".join(
        f"{words.clean(key)}: {words.clean(inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False))}"
        for key, inner in kept.items()
    )


@cache
def _policy(style: str, code: str) -> str:
    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; style-src {digest(style)}; script-src {digest(code)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


_RESOLVERS = {
    "HP": (r"\d{7}", "https://hpo.jax.org/browse/term/HP:{}"),
    "MONDO": (r"\d{7}", "https://monarchinitiative.org/MONDO:{}"),
    "OMIM": (r"\d{6}", "https://omim.org/entry/{}"),
    "ORPHA": (r"\d+", "https://www.orpha.net/en/disease/detail/{}"),
    "PMID": (r"\d+", "https://pubmed.ncbi.nlm.nih.gov/{}/"),
    "DECIPHER": (r"\d+", "https://www.deciphergenomics.org/syndrome/{}"),
    "MESH": (r"[A-Z]\d+", "https://meshb.nlm.nih.gov/record/ui?ui={}"),
    "NCBIGene": (r"\d+", "https://www.ncbi.nlm.nih.gov/gene/{}"),
    "HGNC": (r"\d+", "https://www.genenames.org/data/gene-symbol-report/#!/hgnc_id/HGNC:{}"),
}
"""Prefix → the form of the rest of the identifier, and the page about it."""


def link(id: str) -> str:
    """Return the address of the page about an identifier; empty where there is none.

    Example:
        >>> link("PMID:25792522"), link("case:9"), link('OMIM:1" onclick="x')
        ('https://pubmed.ncbi.nlm.nih.gov/25792522/', '', '')
    """
    prefix, _, rest = id.partition(":")
    form, address = _RESOLVERS.get(prefix, ("", ""))
    return address.format(rest) if form and re.fullmatch(form, rest, re.ASCII) else ""


def web(address: str) -> str:
    """Return an address if it is one of the web, and nothing otherwise: a document's links must not run scripts.

    Example:
        >>> web("https://hpo.jax.org/app/license"), web("javascript:alert(1)"), web("CC BY 4.0")
        ('https://hpo.jax.org/app/license', '', '')
    """
    return address if re.fullmatch(r"https?://[^\s\"'<>]+", address) else ""


MARK = '<meta name="generator" content="kgdx '
"""Stands at the start of every page, and tells it from other files."""

_HEAD = 2048


def write(html: str, path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write a page; a reader of the file sees the old one or the new one, never a part."""
    target = writable(path, force=force)
    try:
        write_whole(target, html.encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}", hint="name another file") from error
    return target


def writable(path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Return where a page may be written: to be asked before the work that the page is of.

    With ``force`` it may take the place of a file that is no such page.
    """
    target = Path(path)
    if target.is_dir():
        raise UsageError(f"{target} is a folder", hint=f"name a file in it, such as {target / 'report.html'}")
    if not force and target.exists() and not _is_page(target):
        raise UsageError(f"{target} exists and is no page of kgdx", hint="name another file, or add --force")
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}", hint="make it first")
    if not os.access(target.parent, os.W_OK):
        raise UsageError(f"{target.parent} cannot be written to", hint="name a file in another folder")
    return target


def _is_page(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return MARK.encode() in file.read(_HEAD)
