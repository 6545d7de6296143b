"""What is made of a thought and of an answer: names of the graph, the documents that fit, an option, diseases."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

from pydantic import Field

from kgdx.answer.artifacts import DiseasesNamed, Fitted, OptionChosen, Passage, Retrieved, Searched
from kgdx.answer.evidence_pack import EvidencePack, clean, pack
from kgdx.answer.option_questions import read_option
from kgdx.answer.sentences import check, marks
from kgdx.episode.operations import Operations
from kgdx.episode.state import Artifact, Reads, State
from kgdx.episode.wish import Action
from kgdx.lazy import lazy_pattern
from kgdx.llm.chat import Message, prompt
from kgdx.policies.candidate_evidence import reason
from kgdx.policies.doctor_reading import aligned
from kgdx.policies.finishing import LANGUAGES, quoted
from kgdx.policies.reordering import expected_tokens
from kgdx.results.cited import EvidenceItem
from kgdx.results.ranked import MoveReason
from kgdx.terms.corpora import cut

FACT_CHARS = 8_000
"""Characters of a prompt that facts of the graph may take, beside the documents: what is given to a pack's prompt."""

DISEASES = 5
"""Most diseases that a diagnosis names."""

_OPTION_CHARS = 2_000
_THOUGHT_CHARS = 8_000


def thought_messages(question: str, options: Mapping[str, str] | None = None, found: str = "") -> tuple[Message, ...]:
    """Return the request for a thought: what does the question need to know?"""
    shown = f"\nWhat was found so far:\n\n==========\n{found}\n==========\n" if found else ""
    return prompt("thought").messages(question=with_options(question, options or {}), found=shown)


def direct_messages(question: str, options: Mapping[str, str], language: str, thought: str = "") -> tuple[Message, ...]:
    """Return the request for an option without documents."""
    shown = f"\nWhat you thought of it:\n\n{quoted(thought[:_THOUGHT_CHARS])}\n" if thought else ""
    return prompt("thought_direct").messages(
        question=with_options(question, options), thought=shown, language=LANGUAGES[language], **_letters(options)
    )


def answer_messages(question: str, options: Mapping[str, str], evidence: str, language: str) -> tuple[Message, ...]:
    """Return the request for an option with evidence."""
    return prompt("thought_answer").messages(
        question=with_options(question, options), evidence=evidence, language=LANGUAGES[language], **_letters(options)
    )


def diagnosis_messages(patient: str, evidence: str, language: str) -> tuple[Message, ...]:
    shown = {"question": with_options(patient, {}), "evidence": evidence}
    return prompt("thought_diagnosis").messages(**shown, language=LANGUAGES[language], most=str(DISEASES))


def with_options(question: str, options: Mapping[str, str]) -> str:
    r"""Return a question with its options, quoted so that nothing in it can end its part of a prompt."""
    lines = [f"{letter}. {clean(text, _OPTION_CHARS)}" for letter, text in options.items()]
    return quoted("\n".join((question, *lines)))


def _letters(options: Mapping[str, str]) -> dict[str, str]:
    letters: Sequence[str] = tuple(options)
    return {"letter": letters[0], "letters": ", ".join(letters)}


MAX_TEXT = 100_000
"""Characters of what a model writes that are read at most."""

GROUND_CHARS = 300
"""Characters of a piece of evidence that a reason shows."""

_NAMED = 3
"""Diseases of a thought that facts are got of: those that it names most often."""
_FINDINGS = 10
_ENDS = ".!?。！？"
_WIDE = lazy_pattern(r"[　-〿一-鿿＀-￯]")
_DIAGNOSIS = lazy_pattern(
    r"^[\s>*_#\d.)-]*(?:diagnosis|诊断)\s*\d?[*_\s]*[:：][*_\s]*(.+)$", re.IGNORECASE | re.MULTILINE
)
_BEHIND = lazy_pattern(r"\s*(?:[\[【［(（].*|[*_.。;；]+)$")

Text = Annotated[str, Field(max_length=MAX_TEXT)]


@dataclass(frozen=True, slots=True)
class SourcesOpened(Artifact):
    """The texts that are to be searched are there and can be read."""

    depends: ClassVar[tuple[Reads, ...]] = ()

    pieces: int = 0


class OpenSources(Action):
    """Open the texts that are to be searched, before a model is asked what to search for."""

    name: ClassVar[str] = "open_sources"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = SourcesOpened

    sources: tuple[str, ...] = ()
    """Tags of the sources to search; all without any."""

    def run(self, graph: Operations, view: State) -> SourcesOpened:
        return SourcesOpened(len(graph.graph.texts.ranking(self.sources)))


@dataclass(frozen=True, slots=True)
class NamesThought(Artifact):
    """Diseases and findings of the graph that a text names, in its words; those first that it names most often."""

    depends: ClassVar[tuple[Reads, ...]] = ()
    many: ClassVar[bool] = True

    diseases: tuple[str, ...] = field(default=(), repr=False)
    findings: tuple[str, ...] = field(default=(), repr=False)

    def summary(self) -> dict[str, Any]:
        return {"diseases": len(self.diseases), "findings": len(self.findings)}


class NameThought(Action):
    """Find the diseases and findings of the graph that a thought names."""

    name: ClassVar[str] = "name_thought"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = NamesThought
    private: ClassVar[frozenset[str]] = frozenset({"text"})

    round: int
    """Which thought it is."""
    text: Text
    """It."""

    def run(self, graph: Operations, view: State) -> NamesThought:
        index, given = graph.graph.names, {"characters": len(self.text)}
        mentions = graph.tool("names", given, lambda: tuple(index.mentions(self.text)), len)
        named: dict[str, Counter[tuple[str, ...]]] = {"Disease": Counter(), "Phenotype": Counter()}
        words: dict[tuple[str, ...], str] = {}
        for each in mentions:
            if each.kind in named:
                named[each.kind][each.ids] += 1
                words.setdefault(each.ids, each.text)
        diseases, findings = (_telling(named[kind], words) for kind in named)
        return NamesThought(tuple(diseases[:_NAMED]), tuple(findings[:_FINDINGS]))


def _telling(counted: Counter[tuple[str, ...]], words: Mapping[tuple[str, ...], str]) -> list[str]:
    return [words[ids] for ids in sorted(counted, key=lambda ids: (-counted[ids], -len(words[ids])))]


class FitPassages(Action):
    """Take those of the passages found that have room in the prompt, the best first.

    Passages of later searches come before those of earlier ones. One that has no room is passed over for the next;
    where none has, the best is cut at the end of a sentence.
    """

    name: ClassVar[str] = "fit_passages"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Fitted
    pure: ClassVar[bool] = True

    budget: Annotated[int, Field(ge=1)]
    """Tokens that they may take."""
    most: Annotated[int, Field(ge=1, le=100)] = 32
    """How many there may be."""

    def run(self, graph: Operations, view: State) -> Fitted:
        every = (each for found in reversed(view.all(Searched)) for each in found.passages)
        found = list({each.id: each for each in reversed(list(every))}.values())[::-1][: self.most]
        taken: list[Passage] = []
        left = self.budget
        for each in found:
            if (cost := expected_tokens(f"{each.title} {each.text}")) <= left:
                taken.append(each)
                left -= cost
        shortened = bool(found) and not taken
        if shortened:
            taken = [shorter(found[0], self.budget)]
            left = 0
        return Fitted(tuple(taken), len(found), self.budget - left, self.budget, shortened)


def shorter(passage: Passage, budget: int) -> Passage:
    """Return the beginning of a passage that a number of tokens holds, to the end of a sentence where it has one."""
    room = budget if _WIDE.search(passage.text) else 4 * budget
    return replace(passage, title=passage.title[:room], text=next(cut(passage.text, room), ""))


class ReadChoice(Action):
    """Read which option answers choose; the one that most of them choose counts, of equally many the first."""

    name: ClassVar[str] = "read_choice"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = OptionChosen
    pure: ClassVar[bool] = True
    private: ClassVar[frozenset[str]] = frozenset({"answers"})

    answers: Annotated[tuple[Text, ...], Field(min_length=1)]
    """What the model wrote."""

    def run(self, graph: Operations, view: State) -> OptionChosen:
        options = dict(view.options)
        return chosen([read_option(each, options) for each in self.answers], options)


_CHOICE = lazy_pattern(
    r"(?:\A|[^\S\n]*+\n)[\s*_#>]*+(?:answer|答案)[*_\s]*+[:：][*_\s(（]*+[A-Z][)）.。*_\s]*\Z", re.IGNORECASE
)


def reasons(text: str) -> str:
    return _CHOICE.sub("", text) or text


def chosen(letters: Sequence[str | None], options: Mapping[str, str]) -> OptionChosen:
    """Return the option that most answers choose."""
    votes = Counter(each for each in letters if each is not None)
    best = votes.most_common(1)[0][0] if votes else ""
    return OptionChosen(best, options.get(best, ""), dict(votes.most_common()), len(letters))


class ReadDiagnosis(Action):
    """Read the diseases that answers name, and find them in the graph; several answers are joined by their places."""

    name: ClassVar[str] = "read_diagnosis"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = DiseasesNamed
    private: ClassVar[frozenset[str]] = frozenset({"answers"})

    answers: Annotated[tuple[Text, ...], Field(min_length=1)]
    """What the model wrote."""

    @property
    def reads(self) -> tuple[Reads, ...]:
        return (Retrieved, Fitted)

    def run(self, graph: Operations, view: State) -> DiseasesNamed:
        lists = [list(diseases_in(each)) for each in self.answers]
        names = list(dict.fromkeys(name for each in lists for name in each))
        ids = dict(zip(names, resolved(graph, names), strict=True))
        weights: Counter[str] = Counter()
        for each in lists:
            listed = dict.fromkeys(id for name in each if (id := ids[name]))
            weights.update({id: 1 / place for place, id in enumerate(listed, 1)})
        declared = tuple(id for id, _ in weights.most_common(DISEASES))
        evidence = pack(view)
        invented = sum(len(check(each, evidence, strict=False).removed) for each in self.answers)
        called = {id: [name for name in names if ids[name] == id] for id in declared}
        reasons = {id: _reason(self.answers, called[id], evidence, _members(graph, id)) for id in declared}
        unknown = tuple(name for name in names if not ids[name])
        return DiseasesNamed(declared, unknown, invented, {id: each for id, each in reasons.items() if each.text})


def about(ids: Collection[str], names: Iterable[str], items: Iterable[EvidenceItem]) -> Iterator[EvidenceItem]:
    """Yield the evidence that is about a disease: it states something of it, or is a text that names it."""
    folded = [name.casefold() for name in names]
    for each in items:
        ends = {end.id for end in (each.subject, *each.objects) if end is not None}
        if not ends.isdisjoint(ids) or any(name in each.text.casefold() for name in folded):
            yield each


def _members(graph: Operations, id: str) -> tuple[str, ...]:
    ranker = graph.graph.ranker
    number = ranker.number_of(id)
    return ranker.names.candidate(number).members if number >= 0 else (id,)


def _reason(answers: Sequence[str], names: Sequence[str], evidence: EvidencePack, ids: Collection[str]) -> MoveReason:
    text = next(each for each in answers if {*names} & {*diseases_in(each)})
    said = [each.strip() for each in _DIAGNOSIS.sub("", text).splitlines() if each.strip()]
    for line in _DIAGNOSIS.finditer(text):
        if _bare(line[1]) in names and (cited := [f"[{id}]" for mark in marks(line[1]) for id in mark.ids]):
            said.append(f"{_bare(line[1])} {''.join(cited)}.")
    whole = " ".join(each if each[-1] in _ENDS else f"{each}." for each in said)
    found = reason(whole, list(about(ids, names, evidence.items)), {each.id: each for each in evidence.items})
    grounds = (replace(each, text=clean(each.text, GROUND_CHARS)) for each in found.grounds)
    return replace(found, grounds=tuple(grounds))


def diseases_in(text: str) -> Iterator[str]:
    """Yield the diseases that an answer names, in lines of the form that it was asked for."""
    found: dict[str, None] = {}
    for line in _DIAGNOSIS.finditer(text):
        if name := _bare(line[1]):
            found.setdefault(name)
    yield from list(found)[:DISEASES]


def _bare(line: str) -> str:
    name = line.strip()
    while (bare := _BEHIND.sub("", name)) != name:
        name = bare
    return name[:200]


def resolved(graph: Operations, names: Iterable[str]) -> list[str]:
    """Return the id of each disease as the ranking has it; empty where the graph has none of the name."""
    ranker, found = graph.graph.ranker, []
    for each in aligned(graph, names):
        numbers = [number for id in each.ids if (number := ranker.number_of(id)) >= 0]
        found.append(ranker.names.candidate(numbers[0]).id if numbers else next(iter(each.ids), ""))
    return found
