"""Free text, phrases and HPO ids → findings with their place, status, matched label, method and score."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from rapidfuzz import fuzz, process

from kgdx.case.demographics import described
from kgdx.case.patient import Case, Extraction, Finding, Issue, Resolution, Span, Status
from kgdx.errors import StoreError
from kgdx.terms.context import statuses
from kgdx.terms.dictionary import CHINESE, Entries, build_dictionary
from kgdx.terms.matcher import (
    Choice,
    Lexicon,
    choose,
    find_chinese,
    find_coordinated,
    find_modified,
    find_windows,
    hashes_of,
)
from kgdx.terms.measured.measured_reader import combined, person_of, read_measured
from kgdx.terms.normalise import MODIFIERS, fold_chinese, has_chinese
from kgdx.terms.phenotypes import Terms
from kgdx.terms.tokens import Spelling, corrected, words
from kgdx.terms.unread import unread, with_values

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.terms.encoder import Encoder
    from kgdx.terms.phrase_vectors import Meaning

_ID = re.compile(r"(?<![\w:])HP[:_](\d{7})(?!\d)", re.IGNORECASE)
_ACRONYM = re.compile(r"\(([A-Z][A-Za-z]{1,6})\)")
_MOST_ACRONYMS = 50
"""Abbreviations that are followed in one text, so that none takes longer than it is worth."""
_WORDS = re.compile(r"[^\W\d_]+")
_LOOSE = (0.9, 0.9, 0.85, 0.8, 0.75)
_CORRECTED = 0.9
_NO_CHINESE = "the graph has no Chinese names, so only some everyday Chinese words are read"
_LOAD_CHINESE = "add them with `kgdx update hp_zh`"

_HPO_ID = re.compile(r"HP[:_ ]?([0-9]+)", re.IGNORECASE)
_DIGITS = 7
_LONGEST_TERM = 500
"""Most characters of a term: a longer one is a text."""

_SUGGESTIONS = 5
_NEAR = 60.0
"""Similarity (0 to 100, order of words ignored) from which a name is suggested."""

_SAME = 92.0
"""Similarity from which a name is taken for the one that was meant."""


@dataclass(frozen=True, slots=True)
class Extractor:
    """Reads findings from text by the names that the graph knows.

    Attributes:
        terms: The graph's phenotypes.
        english: English names.
        chinese: Chinese names and everyday wordings; only the latter where the graph has no Chinese names.
        lengths: Lengths in characters that Chinese names have.
        named_in_chinese: The graph has Chinese names.
        spelling: Words of English names, to mend misspelt ones.
        meaning: The names as vectors, for what no name matches; ``None`` without an encoder.
    """

    terms: Terms
    english: Entries
    chinese: Entries
    lengths: tuple[int, ...]
    named_in_chinese: bool
    spelling: Spelling
    meaning: Meaning | None = None

    @classmethod
    def open(
        cls, snapshot: Snapshot, encoder: Encoder | None = None, progress: Callable[[str], None] | None = None
    ) -> Extractor:
        """Open the snapshot's dictionary, compiling it first if need be.

        Args:
            snapshot: Where the names come from.
            encoder: Reads by meaning what no name matches; the snapshot's names are encoded once.
            progress: Told in words what takes long.

        Raises:
            StoreError: The snapshot cannot be read, or the dictionary cannot be written.
        """
        folder = build_dictionary(snapshot)
        try:
            chinese = json.loads((folder / CHINESE).read_bytes())
            reader = cls(
                terms=Terms(snapshot),
                english=Entries.open(folder, "en"),
                chinese=Entries.open(folder, "zh"),
                lengths=tuple(chinese["lengths"]),
                named_in_chinese=chinese["named"],
                spelling=Spelling.open(folder),
            )
        except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
            hint = "build the graph again with `kgdx build`"
            raise StoreError(f"the text dictionary in {folder} is damaged ({error})", hint=hint) from error
        if encoder is None:
            return reader
        from kgdx.terms.phrase_vectors import Meaning

        return replace(reader, meaning=Meaning.open(snapshot, encoder, progress))

    def extract(self, text: str, language: str | None = None, patient: Case | None = None) -> Extraction:
        """Read all findings of a text, in its order.

        Args:
            text: English, Chinese, both mixed, or a list of HPO ids; spans index it as it is.
            language: ``en`` or ``zh`` to read only that one; ``None`` reads what there is.
            patient: Whose age and sex decide which values are usual; by default they are read from the text.
        """
        found, issues = self._ids(text)
        found += self.mentions(text, language)
        if language != "en" and has_chinese(text) and not self.named_in_chinese:
            issues.append(Issue("warning", "text", _NO_CHINESE, _LOAD_CHINESE))
        found.sort(key=lambda f: (f.span.start, f.span.end, f.id) if f.span else (0, 0, f.id))
        told = statuses(text, [(f.span.start, f.span.end) for f in found if f.span])
        every = with_values(text, [replace(f, status=s) for f, s in zip(found, told, strict=True)])
        values = read_measured(text, person_of(patient or described(Case("", text=text))))
        every = combined(every, values.findings, self.terms)
        findings = _without_implied(every)
        doubtful = (*issues, *values.issues, *_contradictions(findings), *_nothing(text, findings, issues))
        return Extraction(findings, doubtful, unread(text, every, values.measures))

    def mentions(self, text: str, language: str | None = None) -> list[Finding]:
        """Return the findings that a text names or (with an encoder) comes near to, all as present, in no order."""
        found = self.named(text, language)
        if self.meaning and language != "zh":
            found += self.meaning.read(text, found, self.terms)
        return found

    def named(self, text: str, language: str | None = None) -> list[Finding]:
        """Return the findings that a text names, all taken as present, in no particular order."""
        found = [] if language == "zh" else self._english(text)
        if language != "en" and has_chinese(text):
            found += self._chinese(text)
        return found

    def resolve(self, term: str) -> Resolution:
        """Find the current term for an HPO id, a label or a phrase.

        An alternative or obsolete id is replaced with an issue; where nothing fits, the nearest names are suggested.
        """
        return _resolve(term, self)

    def _ids(self, text: str) -> tuple[list[Finding], list[Issue]]:
        found, issues = [], []
        for match in _ID.finditer(text):
            finding, notes = self.terms.current(f"HP:{match.group(1)}")
            issues.extend(notes)
            if finding:
                found.append(replace(finding, span=Span(*match.span()), text=match.group()))
        return found, list(dict.fromkeys(issues))

    def _english(self, text: str) -> list[Finding]:
        found = words(_ID.sub(lambda match: ";" * len(match.group()), text))
        found, mended = corrected(found, self.spelling.correct)
        hashes = hashes_of(found)
        whole = find_windows(found, hashes, self.english) + find_modified(found, hashes, self.english)
        split = find_coordinated(found, hashes, self.english, whole)
        lexicon = Lexicon(self.english, self._label, self.terms.above, mended)
        choices = choose(found, whole, split, lexicon)
        return self._with_acronyms(text, [self._finding(text, choice) for choice in choices])

    def _with_acronyms(self, text: str, findings: list[Finding]) -> list[Finding]:
        """Add the uses of abbreviations that the text introduces for a finding; drop those it uses otherwise."""
        for short, place in introduced(text):
            named = [f for f in findings if f.span and place - 2 < f.span.end <= place and abbreviates(short, f.text)]
            if named:
                taken = {f.span.start for f in findings if f.span and f.text == short}
                findings += [
                    replace(named[0], span=Span(*span), text=short, method="variant")
                    for span in uses(text, short, taken)
                ]
            elif len(short) > 2 and abbreviates(
                short, " ".join(text[max(0, place - 100) : place].split()[-len(short) :])
            ):
                findings = [f for f in findings if f.text != short]
        return findings

    def _label(self, position: int) -> str:
        return self.terms.label(int(self.english.terms[position]), int(self.english.labels[position]))

    def _finding(self, text: str, choice: Choice) -> Finding:
        exact = choice.exact and choice.rank < 2 and not choice.corrected
        score = 1.0 if exact else _LOOSE[min(choice.rank, len(_LOOSE) - 1)]
        return Finding(
            id=self.terms.id(choice.term),
            label=self.terms.name(choice.term),
            span=Span(choice.start, choice.end),
            text=text[choice.start : choice.end],
            matched=choice.label,
            method="fuzzy" if choice.corrected else "exact" if exact else "variant",
            score=score * _CORRECTED if choice.corrected else score,
        )

    def _chinese(self, text: str) -> list[Finding]:
        folded = fold_chinese(text)
        found = []
        for start, end, term in find_chinese(folded.text, self.chinese, self.lengths):
            first, last = folded.places[start], folded.places[end - 1] + 1
            said = text[first:last]
            name = self.terms.name_zh(term) or said
            found.append(
                Finding(
                    id=self.terms.id(term),
                    label=self.terms.name(term),
                    span=Span(first, last),
                    text=said,
                    matched=name,
                    method="exact" if said == name else "variant",
                    score=1.0 if said == name else _LOOSE[0],
                )
            )
        return found


def _without_implied(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Drop general findings said inside an absent specific one: "no severe myopia" does not deny myopia."""
    kept: list[Finding] = []
    outer = Span(0, 0)  # the denied span that reaches furthest; findings come in the order of their starts
    for finding in sorted(findings, key=lambda f: (f.span.start, -f.span.end) if f.span else (0, 0)):
        if finding.status is not Status.ABSENT or not finding.span:
            kept.append(finding)
        elif finding.span == outer or finding.span.end > outer.end:
            outer = finding.span
            kept.append(finding)
    return tuple(kept)


def _contradictions(findings: tuple[Finding, ...]) -> Iterator[Issue]:
    said: dict[str, dict[Status, Finding]] = defaultdict(dict)
    for finding in findings:
        said[finding.id].setdefault(finding.status, finding)
    for statuses_of in said.values():
        present, absent = statuses_of.get(Status.PRESENT), statuses_of.get(Status.ABSENT)
        if present and absent:
            message = f"{present.label} ({present.id}) is said to be present and absent"
            where = f"{_place(present)} and {_place(absent)}"
            yield Issue("warning", where, message, "check the text, or give the finding as an HPO id")


def _place(finding: Finding) -> str:
    return f"characters {finding.span.start}-{finding.span.end}" if finding.span else finding.id


def _nothing(text: str, findings: tuple[Finding, ...], issues: list[Issue]) -> Iterator[Issue]:
    if not findings and not issues:
        what = "the text is empty" if not text.strip() else "no finding was recognised in the text"
        yield Issue("warning", "text", what, "describe the findings in other words, or give HPO ids")


def introduced(text: str) -> Iterator[tuple[str, int]]:
    """Yield each abbreviation in brackets, once, and where its bracket first opens.

    Example:
        >>> list(introduced("Intellectual disability (ID) and ID"))
        [('ID', 24)]
    """
    seen: dict[str, int] = {}
    for match in _ACRONYM.finditer(text):
        seen.setdefault(match.group(1), match.start())
    yield from islice(seen.items(), _MOST_ACRONYMS)


def abbreviates(short: str, long: str) -> bool:
    """Return whether an abbreviation consists of the first letters of the words of a phrase.

    Example:
        >>> abbreviates("GDD", "global developmental delay"), abbreviates("HL", "deafness")
        (True, False)
    """
    initials = "".join(word[0] for word in _WORDS.findall(long)).lower()
    return len(short) > 1 and short.rstrip("s").lower() == initials


def uses(text: str, short: str, taken: Set[int]) -> Iterator[tuple[int, int]]:
    """Yield where an abbreviation stands as a word of its own, unless a finding starts there already.

    Example:
        >>> list(uses("delay (GDD). GDD is", "GDD", {13}))
        [(7, 10)]
    """
    for match in re.finditer(rf"(?<!\w){re.escape(short)}(?!\w)", text):
        if match.start() not in taken:
            yield match.span()


def _resolve(term: str, reader: Extractor) -> Resolution:
    given = term.strip()
    if not given:
        return Resolution(None, (Issue("error", term, "an empty term", "give an HPO id or the name of a finding"),))
    if len(given) > _LONGEST_TERM:
        message = f"a term of {len(given):,} characters ({given[:20]!r}…)"
        return Resolution(None, (Issue("error", given[:80], message, "give an HPO id or a name; longer text as text"),))
    if match := _HPO_ID.fullmatch(given):
        return _by_number(given, match.group(1), reader)
    found = [f for f in reader.named(given) if f.span and _covers(given, f)]
    if found:
        best = max(found, key=lambda f: (len(f.text), f.score))
        issues = []
        if best.method == "fuzzy":
            issues.append(Issue("info", given, f"{given!r} is read as {best.label} ({best.id})", "check the spelling"))
        return Resolution(replace(best, span=None, text=given), tuple(issues))
    nearest = _nearest(given, reader)
    near = reader.meaning.find(given, reader.terms) if reader.meaning and nearest.finding is None else None
    if near is None:
        return nearest
    message = f"{given!r} is read as {near.label} ({near.id}), whose name is near in meaning"
    return Resolution(near, (Issue("warning", given, message, "check that it is meant"),), nearest.suggestions)


def _by_number(given: str, digits: str, reader: Extractor) -> Resolution:
    """Find an id; leading zeros may be left out altogether, but an id that lost or gained a digit is not guessed."""
    if len(digits) == _DIGITS or (len(digits) < _DIGITS and not digits.startswith("0")):
        finding, issues = reader.terms.current(f"HP:{digits:0>{_DIGITS}}")
        return Resolution(finding, tuple(issues))
    near = dict.fromkeys(f"HP:{number}" for number in _one_digit_off(digits))
    known = [(curie, row) for curie in near if (row := reader.terms.row(curie)) is not None]
    suggestions = tuple(Finding(curie, label=reader.terms.name(row), text=given) for curie, row in known)
    message = f"{given[:80]} has {len(digits)} digits, an HPO id has {_DIGITS}"
    remedy = f"perhaps one of: {'; '.join(f'{f.id} {f.label}' for f in suggestions[:_SUGGESTIONS])}"
    issue = Issue("error", given[:80], message, remedy if suggestions else "check the number")
    return Resolution(None, (issue,), suggestions[:_SUGGESTIONS])


def _one_digit_off(digits: str) -> Iterator[str]:
    """Yield the numbers of seven digits that come of one digit put in, the last place first, or left out."""
    places = range(len(digits), -1, -1)
    if len(digits) == _DIGITS - 1:
        yield from (f"{digits[:at]}{digit}{digits[at:]}" for at in places for digit in "0123456789")
    elif len(digits) == _DIGITS + 1:
        yield from (digits[:at] + digits[at + 1 :] for at in places[1:])


def _covers(given: str, finding: Finding) -> bool:
    """Whether a finding takes up all words of a phrase, but for adjectives of degree and side."""
    assert finding.span is not None
    if has_chinese(given):
        return len(finding.text.strip()) == len(given)
    rest = given[: finding.span.start] + " " + given[finding.span.end :]
    return all(word in MODIFIERS for word in words(rest).folded)


def _nearest(given: str, reader: Extractor) -> Resolution:
    if has_chinese(given):
        (names, rows), compared, asked = reader.terms.labels_zh, reader.terms.labels_zh[0], given.lower()
    else:
        names, rows = reader.terms.labels
        compared, asked = reader.terms.sorted_labels, " ".join(sorted(given.lower().split()))
    hits = process.extract(asked, compared, scorer=fuzz.ratio, limit=4 * _SUGGESTIONS, score_cutoff=_NEAR)
    near: dict[str, Finding] = {}
    for _, similarity, index in hits:
        name, row = names[index], rows[index]
        finding = Finding(
            id=reader.terms.id(row),
            label=reader.terms.name(row),
            text=given,
            matched=name,
            method="fuzzy",
            score=round(similarity / 100, 3),
        )
        near.setdefault(finding.id, finding)
    suggestions = tuple(near.values())[:_SUGGESTIONS]
    if suggestions and suggestions[0].score * 100 >= _SAME:
        best = suggestions[0]
        issue = Issue("info", given, f"{given!r} is read as {best.label} ({best.id})", "check the spelling")
        return Resolution(best, (issue,), suggestions[1:])
    listed = "; ".join(f"{f.id} {f.label}" for f in suggestions)
    remedy = f"perhaps one of: {listed}" if listed else "give an HPO id or the name of a finding"
    return Resolution(None, (Issue("error", given, f"{given!r} is no known finding", remedy),), suggestions)
