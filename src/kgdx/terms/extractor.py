"""Free text, phrases and HPO ids → findings with their place, status, matched label, method and score."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from kgdx.case.cleaning import inner_spans
from kgdx.case.ddxplus_release import PREFIX
from kgdx.case.demographics import described
from kgdx.case.measured_values import Measurement
from kgdx.case.patient import Case, Extraction, Finding, Issue, Resolution, Span, Status
from kgdx.case.reading_limits import limited, masked_runs
from kgdx.errors import StoreError
from kgdx.lazy import lazy_pattern
from kgdx.terms import abbreviations
from kgdx.terms.context import statuses
from kgdx.terms.dictionary import CHINESE, Entries, build_dictionary
from kgdx.terms.everyday import everyday_wordings
from kgdx.terms.given_terms import resolved
from kgdx.terms.headings import patients
from kgdx.terms.matcher import (
    Lexicon,
    TermChoice,
    choose,
    find_chinese,
    find_chinese_parted,
    find_coordinated,
    find_modified,
    find_windows,
    hashes_of,
)
from kgdx.terms.normalise import fold_chinese, has_chinese
from kgdx.terms.phenotypes import Terms
from kgdx.terms.qualifiers import ends, qualified
from kgdx.terms.sites import at_sites
from kgdx.terms.spoken import FIGURE, PRECEDING, spoken, turned
from kgdx.terms.tokens import Spelling, corrected, words

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.terms.encoder import Encoder
    from kgdx.terms.phrase_vectors import PhraseVectors

_ID = lazy_pattern(r"(?<![\w:])HP[:_](\d{7})(?!\d)", re.IGNORECASE)
_ACRONYM = lazy_pattern(r"\(([A-Z][A-Za-z]{1,6})\)")
_FIELD = lazy_pattern(
    r"(?<![\w])(gait|tone|reflexes|DTRs|plantars?|power|speech|appetite|hearing|vision|sleep|sweating|libido|liver|spleen|JVP"
    r"|sats)[ \t]*:"
    r"(?=[ \t]*(?:absent|lost|none|increased|raised|high|brisk|exaggerated|decreased|reduced|diminished|sluggish"
    r"|low|poor|impaired|up|upgoing|extensor|weak|unsteady|ataxic|wide|broad|waddling|spastic|delayed|late|palpable|enlarged"
    r"|[1-9] ?cm)\b)",
    re.IGNORECASE,
)
"""A part or function of which a form says how it is: "Tone: increased" is one finding."""
_PERSON = lazy_pattern(
    r"(?:(?:ex-|former |heavy |current )?smoker|diabetic|asthmatic|pregnant.*|alcoholic|drinks.*|smokes.*|\d+.*)",
    re.IGNORECASE,
)
_LONGEST = 200
_GENERAL = frozenset({"HP:0012531", "HP:0000969"})
"""Pain and edema: said by every pain and swelling of a place, so read by themselves only where no place is."""
_MOST_ACRONYMS = 50
"""Abbreviations that are followed in one text, so that none takes longer than it is worth."""
_WORDS = lazy_pattern(r"[^\W\d_]+")
_OTHER = 20
_OTHERS = lazy_pattern(
    r"(?:\b(?:other|rest of|remaining)(?: the)?|其他|其它|其余|别的)(?:的|关节|部位|地方)?\s?$", re.IGNORECASE
)
"""What is denied of the rest: "no other joint pain", "其它关节不疼"."""
_LOOSE = (0.9, 0.9, 0.85, 0.8, 0.75)
_CORRECTED = 0.9
_NO_CHINESE = "the graph has no Chinese names, so only some everyday Chinese words are read"
_LOAD_CHINESE = "add them with `kgdx update hp_zh`"


@dataclass(frozen=True, slots=True)
class Extractor:
    """Reads findings from text by the names that the graph knows.

    Attributes:
        chinese: Chinese names and everyday wordings; only the latter where the graph has no Chinese names.
        lengths: Lengths in characters that Chinese names have.
        meaning: The names as vectors, for what no name matches; ``None`` without an encoder.
        symptoms: Ids of the symptoms and risks of the graph that are no terms of HPO.
    """

    terms: Terms
    english: Entries
    chinese: Entries
    lengths: tuple[int, ...]
    named_in_chinese: bool
    spelling: Spelling
    meaning: PhraseVectors | None = None
    symptoms: Set[str] = frozenset()

    @classmethod
    def open(
        cls, snapshot: Snapshot, encoder: Encoder | None = None, progress: Callable[[str], None] | None = None
    ) -> Extractor:
        """Open the snapshot's dictionary, compiling it first if need be."""
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
                symptoms=frozenset(_symptoms(snapshot)),
            )
        except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
            hint = "build the graph again with `kgdx build`"
            raise StoreError(f"the text dictionary in {folder} is damaged ({error})", hint=hint) from error
        if encoder is None:
            return reader
        from kgdx.terms.phrase_vectors import PhraseVectors

        return replace(reader, meaning=PhraseVectors.open(snapshot, encoder, progress))

    def extract(self, text: str, language: str | None = None, patient: Case | None = None) -> Extraction:
        """Read all findings of a text, in its order."""
        with limited():
            return self._read(masked_runs(text), language, patient)

    def _read(self, text: str, language: str | None, patient: Case | None) -> Extraction:
        from kgdx.terms.measured.measured_reader import combined, judged_values, person_of, values_said
        from kgdx.terms.unread import unread, with_values

        found, issues = self._ids(text)
        found += self.mentions(text, language)
        if language != "en" and has_chinese(text) and not self.named_in_chinese:
            issues.append(Issue("warning", "text", _NO_CHINESE, _LOAD_CHINESE))
        issues += abbreviations.uses(text, {short for short, _ in introduced(text)})[1] if language != "zh" else []
        found.sort(key=lambda f: (f.span.start, f.span.end, f.id) if f.span else (0, 0, f.id))
        said, past = values_said(text), spoken(text, PRECEDING.__eq__)
        spans = [ends(f) for f in found if f.span]
        held = statuses(text, [*spans, *(each.span for each in said), *map(ends, past)])
        told = _nested(found, held[: len(spans)])
        told = [_of_others(text, f, _said(f.status, s)) for f, s in zip(found, told, strict=True)]
        named = with_values(text, [replace(f, status=s) for f, s in zip(found, told, strict=True)])
        person = person_of(patient or described(Case("", text=text)))
        values = judged_values(text, said, held[len(spans) : len(spans) + len(said)], person)
        measured = [each for each in values.findings if _of_others(text, each, each.status) is each.status]
        every = combined(named, measured, self.terms)
        beside = self._beside(text, every)
        stated = _without_implied(every)
        within = inner_spans(each.span for each in (*stated, *beside) if each.span)
        plain = [each for each in stated if each.id not in _GENERAL or each.span not in within]
        over = [e for e in (*plain, *beside) if e.id != PRECEDING and any(_inside(e, other) for other in past)]
        findings = qualified(text, [each for each in (*plain, *beside) if each not in over])
        doubtful = (*issues, *_several(text), *values.issues)
        doubtful += (*_contradictions(findings), *_nothing(text, findings, issues))
        return Extraction(findings, doubtful, unread(text, (*every, *findings), values.measures))

    def judge(self, measurements: Iterable[Measurement], patient: Case) -> Extraction:
        """Return the findings that values which a source gives in fields come to."""
        from kgdx.terms.measured.measured_reader import judged_measurement, person_of

        person = person_of(patient)
        read = [judged_measurement(each, person) for each in measurements]
        known = (f for each in read for f in each.findings if self.terms.row(f.id) is not None)
        return Extraction(tuple(known), tuple(issue for each in read for issue in each.issues))

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
        found = [e for e in found if e.status is not Status.ABSENT or not turned(text, _at(e))]
        said = spoken(text, lambda id: id == FIGURE or self.terms.row(id) is not None)
        reach = {each.start: each.end for each in map(_at, (*found, *said))}
        found, said = ([each for each in some if not _denies_more(each, reach)] for some in (found, said))
        said.sort(key=_start)
        kept = [each for each in found if not any(_inside(each, other) for other in _beside(each, said))]
        kept.sort(key=_start)
        said = [e for e in said if e.id != FIGURE and not any(_part_of(e, other) for other in _beside(e, said))]
        kept += [e for e in said if not any(_says(o, e) or _part_of(e, o) for o in _beside(e, kept))]
        every = [*kept, *spoken(text, lambda id: id == FIGURE or id in self.symptoms)]
        return [*kept, *at_sites(text, every, lambda id: self.terms.row(id) is not None)]

    def _beside(self, text: str, read: Sequence[Finding]) -> list[Finding]:
        said = spoken(text, self.symptoms.__contains__)
        said = [e for e in said if not any(_part_of(e, other) for other in (*_beside(e, read), *_beside(e, said)))]
        said += at_sites(text, (*read, *said), lambda id: id in self.symptoms)
        told = statuses(text, [ends(each) for each in said if each.span]) if said else []
        told = [_said(each.status, _habit(text, each, status)) for each, status in zip(said, told, strict=True)]
        kin = [each for each in read if each.status is Status.FAMILY]
        told = [
            Status.FAMILY if any(_starts_in(other, each) for other in kin) else status
            for each, status in zip(said, told, strict=True)
        ]
        once = {each.id: replace(each, status=status) for each, status in zip(said[::-1], told[::-1], strict=True)}
        return sorted(once.values(), key=_start)

    def resolve(self, term: str) -> Resolution:
        """Find the current term for an HPO id, a label or a phrase.

        An alternative or obsolete id is replaced with an issue; where nothing fits, the nearest names are suggested.
        """
        return resolved(term, self)

    def _ids(self, text: str) -> tuple[list[Finding], list[Issue]]:
        found, issues = [], []
        for match in _ID.finditer(text):
            finding, notes = self.terms.current(f"HP:{match.group(1)}")
            issues.extend(notes)
            if finding:
                found.append(replace(finding, span=Span(*match.span()), text=match.group()))
        return found, list(dict.fromkeys(issues))

    def _english(self, text: str) -> list[Finding]:
        plain = _ID.sub(lambda match: ";" * len(match.group()), text)
        found = words(_FIELD.sub(lambda match: match.group()[:-1] + " ", plain))
        found, mended = corrected(found, self.spelling.correct)
        hashes = hashes_of(found)
        whole = find_windows(found, hashes, self.english) + find_modified(found, hashes, self.english)
        split = find_coordinated(found, hashes, self.english, whole)
        lexicon = Lexicon(self.english, self._label, self.terms.above, mended)
        choices = choose(found, whole, split, lexicon)
        explained = list(introduced(text))
        findings = _with_acronyms(text, [self._finding(text, choice) for choice in choices], explained)
        return self._with_abbreviations(text, findings, {short for short, _ in explained})

    def _with_abbreviations(self, text: str, findings: list[Finding], explained: Set[str]) -> list[Finding]:
        used, open_ones = abbreviations.uses(text, explained)
        undecided = {issue.where for issue in open_ones}
        spans = {Span(use.start, use.end): use.reading.id for use in used}
        kept = [f for f in findings if f.span not in spans and _place(f) not in undecided]
        taken = [f.span for f in kept if f.span]
        for at, id in spans.items():
            row = self.terms.row(id)
            if row is not None and not any(whole.start <= at.start and at.end <= whole.end for whole in taken):
                said, name = text[at.start : at.end], self.terms.name(row)
                kept.append(Finding(id, Status.PRESENT, name, at, said, name, "variant", _LOOSE[0]))
        return kept

    def _label(self, position: int) -> str:
        number = int(self.english.labels[position])
        if number < 0:
            return _phrases()[-number - 1]
        return self.terms.label(int(self.english.terms[position]), number)

    def _finding(self, text: str, choice: TermChoice) -> Finding:
        exact = choice.exact and choice.rank < 2 and not choice.corrected
        score = 1.0 if exact else _LOOSE[min(choice.rank, len(_LOOSE) - 1)]
        wording = everyday_wordings("en").get(choice.label)
        return Finding(
            id=self.terms.id(choice.term),
            status=Status.ABSENT if wording and wording.absent else Status.PRESENT,
            label=self.terms.name(choice.term),
            span=Span(choice.start, choice.end),
            text=text[choice.start : choice.end],
            matched=choice.label,
            method="fuzzy" if choice.corrected else "exact" if exact else "variant",
            score=score * _CORRECTED if choice.corrected else score,
        )

    def _chinese(self, text: str) -> list[Finding]:
        folded = fold_chinese(text)
        found = find_chinese(folded.text, self.chinese, self.lengths)
        found += find_chinese_parted(folded.text, self.chinese, self.lengths, found)
        found += find_chinese_parted(folded.text, self.chinese, self.lengths, found, denied=True)
        return [self._chinese_finding(text, folded.places, *each) for each in found]

    def _chinese_finding(self, text: str, places: Sequence[int], start: int, end: int, named: int) -> Finding:
        term = max(named, ~named)
        span = Span(places[start], places[end - 1] + 1)
        said = text[span.start : span.end]
        name = self.terms.name_zh(term) or said
        exact = said == name
        label, method = self.terms.name(term), "exact" if exact else "variant"
        score = 1.0 if exact else _LOOSE[0]
        status = Status.PRESENT if named >= 0 else Status.ABSENT
        return Finding(self.terms.id(term), status, label, span, said, name, method, score)


@cache
def _phrases() -> list[str]:
    return list(everyday_wordings("en"))


def _symptoms(snapshot: Snapshot) -> Iterator[str]:
    ids = snapshot.values("symptom", "id").values() if snapshot.rows("symptom") else ()
    return (id for id in ids if id.startswith((PREFIX, "KGDX:common.")))


def _habit(text: str, finding: Finding, told: Status) -> Status:
    behind = finding.span and text[: finding.span.start].rstrip()[-1:] in (",", "，")
    return Status.PRESENT if told is Status.ABSENT and behind and _PERSON.fullmatch(finding.text) else told


def _at(finding: Finding) -> Span:
    return finding.span or Span(0, 0)


def _start(finding: Finding) -> int:
    return _at(finding).start


def _beside(finding: Finding, others: Sequence[Finding]) -> Sequence[Finding]:
    low = bisect_left(others, _start(finding) - _LONGEST, key=_start)
    return others[low : bisect_left(others, _at(finding).end, key=_start)]


def _inside(finding: Finding, other: Finding) -> bool:
    at, whole = _at(finding), _at(other)
    more = whole != at or other.id in (FIGURE, PRECEDING)
    more |= other.status is Status.ABSENT and finding.status is Status.PRESENT
    denied = other.status is Status.ABSENT and whole.start < at.start < whole.end  # "doesn't hurt to pee"
    return denied or (more and whole.start <= at.start and at.end <= whole.end)


def _part_of(denial: Finding, other: Finding) -> bool:
    """Return whether what denies a finding is only a part of how another is told: "burning when passing urine"."""
    at, whole = _at(denial), _at(other)
    inner = at != whole and whole.start <= at.start and at.end <= whole.end
    return inner and denial.status is Status.ABSENT and other.id != FIGURE


def _denies_more(finding: Finding, reach: Mapping[int, int]) -> bool:
    """Return whether its first letter denies a longer one: 无尿 in 无尿痛."""
    return finding.text[:1] in ("无", "没", "不", "未") and reach.get(_start(finding) + 1, 0) > _at(finding).end


def _starts_in(finding: Finding, other: Finding) -> bool:
    return _start(other) <= _start(finding) < _at(other).end


def _says(finding: Finding, other: Finding) -> bool:
    apart = _at(finding).end <= _start(other) or _at(other).end <= _start(finding)
    return not apart and finding.id == other.id


def _said(own: Status, told: Status) -> Status:
    if own is Status.ABSENT and told is Status.FAMILY:
        return Status.UNKNOWN
    return own if told is Status.PRESENT else told


def _of_others(text: str, finding: Finding, told: Status) -> Status:
    others = _OTHERS.search(text[: _start(finding)][-_OTHER:]) or text.startswith(" elsewhere", _at(finding).end)
    return Status.UNKNOWN if others and told is Status.ABSENT else told


def _nested(found: Sequence[Finding], told: list[Status]) -> list[Status]:
    spans = list(map(_at, found))
    outer, status = Span(0, 0), Status.PRESENT
    for number in sorted(range(len(told)), key=lambda n: (spans[n].start, -spans[n].end)):
        if spans[number].end > outer.end:
            outer, status = spans[number], told[number]
        elif status not in (Status.PRESENT, Status.ABSENT):
            told[number] = status
    return told


def _with_acronyms(text: str, findings: list[Finding], explained: Sequence[tuple[str, int]]) -> list[Finding]:
    for short, place in explained:
        named = [f for f in findings if f.span and place - 2 < f.span.end <= place and abbreviates(short, f.text)]
        if named:
            taken = {f.span.start for f in findings if f.span and f.text == short}
            spans = uses(text, short, taken)
            findings += [replace(named[0], span=Span(*span), text=short, method="variant") for span in spans]
        elif len(short) > 2 and abbreviates(short, " ".join(text[max(0, place - 100) : place].split()[-len(short) :])):
            findings = [f for f in findings if f.text != short]
    return findings


def _without_implied(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    kept: list[Finding] = []
    outer = Span(0, 0)  # the denied span that reaches furthest; findings come in the order of their starts
    for finding in sorted(findings, key=lambda f: (f.span.start, -f.span.end) if f.span else (0, 0)):
        if finding.status is not Status.ABSENT or not finding.span:
            kept.append(finding)
        elif finding.span == outer or finding.span.end > outer.end:
            outer = finding.span
            kept.append(finding)
    return tuple(kept)


def _several(text: str) -> Iterator[Issue]:
    if places := patients(text):
        named = ", ".join(f"{text[start:end]} (characters {start}-{end})" for start, end in places)
        message = f"the text tells of {len(places)} patients: {named}"
        yield Issue("warning", "text", message, "only the first one's findings count; give each a text of its own")


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
