"""The words of templated answers, in English and Chinese."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kgdx.answer.evidence_pack import clean
from kgdx.case.ddxplus_release import PREFIX, evidence_words
from kgdx.results.cited import EvidenceItem, Resolved
from kgdx.schema import wording
from kgdx.terms.everyday import lay_wordings
from kgdx.terms.normalise import has_chinese, read_table


class Inference(NamedTuple):
    """How diseases were inferred: by how many of the things that were asked for, and by which."""

    matched: int
    asked: int
    relation: str
    objects: tuple[str, ...]


def inferred(items: Iterable[EvidenceItem]) -> dict[Inference, list[EvidenceItem]]:
    """Return the diseases that were inferred, those that match most first."""
    groups: dict[Inference, list[EvidenceItem]] = {}
    for item in items:
        if item.kind == "inference":
            said = item.details.get("given") or (each.name or each.id for each in item.objects)
            objects = tuple(dict.fromkeys(map(clean, said)))
            key = Inference(item.details["matched"], item.details["asked"], item.relation, objects)
            groups.setdefault(key, []).append(item)
    return dict(sorted(groups.items(), key=lambda pair: -pair[0].matched))


class SentencePatterns:
    """Patterns of sentences in a language, by their names in ``sentence_patterns.tsv``, several in a list."""

    comma: list[str]
    either: str
    more: str
    lacking: str
    lacking_several: str
    unknown: list[str]

    def __init__(self, language: str) -> None:
        self.language, self.gap = ("zh", "") if language == "zh" else ("en", " ")
        self._forms: dict[str, list[str]] = {}
        for name, english, chinese in read_table(Path(__file__).with_name("sentence_patterns.tsv")):
            self._forms.setdefault(name, []).append(chinese if language == "zh" else english)

    def __getattr__(self, name: str) -> Any:
        if name not in self._forms:
            raise AttributeError(name)
        forms = self._forms[name]
        return forms if len(forms) > 1 else forms[0]

    def of_kind(self, name: str, kind: str) -> str:
        """Return the pattern of one kind; the kind itself where it has none."""
        return self._forms.get(f"{name}.{kind}", [kind])[0]

    def list(self, names: Sequence[str], most: int) -> str:
        """Return names as a list within a sentence; of more than ``most``, how many are left is said.

        Example:
            >>> english, chinese = patterns_in("en"), patterns_in("zh")
            >>> english.list(["fever", "cough", "chills"], 3), english.list(["fever", "cough", "chills"], 1)
            ('fever, cough and chills', 'fever and 2 more')
            >>> chinese.list(["发热", "咳嗽", "寒战"], 2)
            '发热、咳嗽等3项'
        """
        shown = names[:most]
        if len(names) > most:
            return self.comma[0].join(shown) + self.more.format(left=len(names) - most, all=len(names))
        return self.comma[0].join(shown[:-1]) + (self.comma[1] if len(shown) > 1 else "") + "".join(shown[-1:])

    def statement(self, relation: str, *, several: bool) -> str:
        """Return what the objects of a relation are to the disease.

        Example:
            >>> patterns_in("zh").statement("INHERITANCE", several=False)
            '遗传方式'
        """
        forms = self._forms.get(f"statements.{relation}") or wording(relation, self.language).statement
        return forms[several] or relation

    def noun(self, relation: str, *, several: bool) -> str:
        """Return what is asked for by a relation; nothing where there is no word for it."""
        return wording(relation, self.language).noun[several]

    def alternatives(self, things: Sequence[str]) -> str:
        """Return things of which there is none.

        Example:
            >>> patterns_in("en").alternatives(["tests", "drugs", "genes"])
            'tests, drugs or genes'
        """
        return self.comma[0].join(things[:-1]) + (self.either if len(things) > 1 else "") + "".join(things[-1:])

    def inferred(self, how: Inference, listed: str, several: int, most: int) -> str:
        """Return that the listed diseases, so many, have what was asked for, or a part of it."""
        form: str = self.inference[(several > 1) + 2 * (how.matched < how.asked)]
        things = self.noun(how.relation, several=how.asked > 1)
        named = {"objects": self.list(how.objects, most), "things": things, "list": listed}
        return form.format(matched=how.matched, asked=how.asked, **named)


@cache
def patterns_in(language: str) -> SentencePatterns:
    return SentencePatterns(language)


def unknown_name(name: Resolved, words: SentencePatterns) -> str:
    """Say that the graph has nothing of a name, and what comes near, or where such names come from."""
    text, near = words.unknown
    listed = words.list([clean(each) for each in name.candidates], 5)
    end = near.format(list=listed) if listed else words.elsewhere if has_chinese(name.given) else near[-1]
    return text.format(given=clean(name.given)) + end


_SUBSTANCE = 3


@cache
def wanted(want: str, language: str) -> str:
    """Return what something that is wanted, or a source, is called.

    Example:
        >>> wanted("gene", "zh")
        '致病基因'
    """
    english, chinese, *_ = _wanted()[want]
    return chinese if language == "zh" else english


def bringing(want: str, loaded: Container[str]) -> list[str]:
    """Return the sources that would bring something that is wanted and are not loaded."""
    return [each for each in _wanted()[want][2].split() if each not in loaded]


@cache
def _wanted() -> Mapping[str, list[str]]:
    return {row[0]: row[1:] for row in read_table(Path(__file__).with_name("wanted.tsv"))}


@cache
def note_of(term: str, language: str) -> str:
    """The years of an age of onset, or the rule of a mode of inheritance for relatives; empty for other terms."""
    rows = read_table(Path(__file__).with_name("term_notes.tsv"))
    return next((row[2 if language == "zh" else 1] for row in rows if row[0] == term), "")


@cache
def weights(language: str) -> Mapping[str, str]:
    rows = read_table(Path(__file__).with_name("source_weight.tsv"))
    return {row[0]: row[2] if language == "zh" else row[1] for row in rows}


def in_english(name: str) -> str | None:
    """What a Chinese name of a department, a treatment, a test or a preparation is in English, where it is known."""
    terms = _terms()
    within = max((term for term in terms if len(term) >= _SUBSTANCE and term in name), key=len, default="")
    return terms.get(name) or terms.get(within)


def chinese_of(name: str) -> tuple[str, ...]:
    """Return the Chinese names of a department, a treatment, a test or a substance that is given in English."""
    return tuple(term for term, english in _terms().items() if english.casefold() == name.casefold())


def in_chinese(id: str, name: str) -> str | None:
    """What a finding, a question of DDXPlus, a department, a treatment or a test is in Chinese, where it is known."""
    asked = evidence_words().get(id.removeprefix(PREFIX)) if id.startswith(PREFIX) else None
    return _spoken().get(id) or (asked.name_zh if asked else None) or _named().get(name.casefold())


@cache
def _spoken() -> Mapping[str, str]:
    return {id: phrase for phrase, id in reversed(list(lay_wordings()))}


@cache
def _named() -> Mapping[str, str]:
    return {english.casefold(): term for term, english in reversed(list(_terms().items()))}


@cache
def _terms() -> Mapping[str, str]:
    return {row[0]: row[1] for row in read_table(Path(__file__).with_name("clinical_terms.tsv"))}
