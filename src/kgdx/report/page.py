"""A result's JSON document → its page, by templates that escape whatever is put into them.

The page allows itself nothing but its own stylesheet and script, which are named by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kgdx.errors import UsageError
from kgdx.report import words
from kgdx.report.links import link, web

_HERE = Path(__file__).resolve().parent / "templates"


def page(document: Mapping[str, Any]) -> str:
    """Return the page of a diagnosis or an answer.

    Args:
        document: What :meth:`kgdx.Diagnosis.to_dict` or the ``to_dict`` of an answer returns, or was read from a file
            that was written from it.

    Raises:
        UsageError: It is no such document, or a damaged one.

    Example:
        >>> shown = page({"schema": "kgdx.diagnosis/1", "case": {"id": "<b>p</b>"}})
        >>> "<b>" in shown, "&lt;b&gt;p&lt;/b&gt;" in shown
        (False, True)
    """
    template, values = _view(document)
    environment = _environment()
    html = environment.get_template(template).render(
        values, style=stylesheet(), script=script(), policy=_policy(), made_by=version("kgdx"), whole=True
    )
    return html.encode("utf-8", "replace").decode()  # a lone surrogate, as a broken JSON escape gives it


def fragment(document: Mapping[str, Any]) -> str:
    """Return what stands in a page's ``<main>``, for a page that has :func:`stylesheet` and :func:`script` already.

    The script brings each ``.kgdx-report`` to life that is there when it loads; ``kgdxReport(element)`` does so for one
    that is put in later.

    Raises:
        UsageError: It is no such document, or a damaged one.

    Example:
        >>> fragment({"schema": "kgdx.diagnosis/1", "case": {"id": "p"}}).lstrip().startswith("<div class=")
        True
    """
    template, values = _view(document)
    html = _environment().get_template(template).render(values, whole=False)
    return html.encode("utf-8", "replace").decode()


@cache
def stylesheet() -> str:
    """Return the style of pages; in a page of another's, all of it is under ``.kgdx-report`` but the colours."""
    return (_HERE / "page.css").read_text(encoding="utf-8")


@cache
def script() -> str:
    """Return the script of pages: it handles what is there, and writes text, never markup."""
    return (_HERE / "page.js").read_text(encoding="utf-8")


def _view(document: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    from kgdx.report.answer import view as answer
    from kgdx.report.diagnosis import view as diagnosis

    views: dict[str, tuple[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
        "kgdx.answer/1": ("answer.html", answer),
        "kgdx.diagnosis/1": ("diagnosis.html", diagnosis),
    }
    schema = document.get("schema") if isinstance(document, Mapping) else None
    if not isinstance(schema, str) or schema not in views:
        said = f"of the form {schema[:40]}" if isinstance(schema, str) else "without a form"
        raise UsageError(f"no page is made of a document {said}", hint=f"it must be one of {', '.join(views)}")
    template, view = views[schema]
    return template, view(document)


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
        link=link,
        web=web,
        clean=words.clean,
        signed=words.signed,
        frequency=words.frequency,
        age=words.age,
        compact=compact,
    )
    environment.globals.update(
        number=lambda value: f"{value:.1f}".removesuffix(".0"),
        count=words.count,
        STATUS=words.STATUS_WORDS,
        SEX=words.SEX_WORDS,
        KINDS=words.KINDS,
        seconds=words.seconds,
    )
    return environment


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
def _policy() -> str:
    """The content security policy: this style, this script, and nothing else."""

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; style-src {digest(stylesheet())}; script-src {digest(script())}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
