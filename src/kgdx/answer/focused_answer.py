"""An answer that says what was asked for: the fact in its first sentence, in the language of the question.

Entries that one name stands for are one disease here, so that whichever of them holds the fact gives it; what several
sources state is said once. What no source states is named, with the kind of source that would bring it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from kgdx.answer.answer_phrases import (
    Inference,
    SentencePatterns,
    bringing,
    in_chinese,
    in_english,
    inferred,
    note_of,
    patterns_in,
    unknown_name,
    wanted,
    weights,
)
from kgdx.answer.evidence_pack import EvidencePack, clean, language_of
from kgdx.answer.stated_things import Thing, aspect_in, marks_of, merged, often, same_name, stem, weight_of
from kgdx.answer.wants import OUTSIDE, PASSAGES, STATED, TREATMENTS, UNTOLD, Asked, Want
from kgdx.case.ddxplus_release import is_detail
from kgdx.lazy import lazy_pattern
from kgdx.results.cited import CitedText, EvidenceItem, Resolved, Sentence
from kgdx.results.evidence_paths import PathNode
from kgdx.terms.normalise import form, read_table

_SAID = defaultdict[str, dict[str, re.Pattern[str]]](dict)
"""Kind of what questions say → what names or ids hold, or what is meant → how questions say it."""
for _kind, _name, _words in read_table(Path(__file__).with_name("said.tsv")):
    _SAID[_kind][_name] = lazy_pattern(_words, re.IGNORECASE)
_WORDS = _SAID["word"]
_KINDS = {Want.INHERITANCE: "mode", Want.ONSET: "age"}
ROOM = 380
LEAST_ROOM, QUOTED = 110, 2
_MANY_ROWS = 200
"""Diseases from which on a list may not hold all that there are."""
_ID = lazy_pattern(r"[A-Za-z]+:\w+")
_LISTS = frozenset({"department", "diet", "avoided", "inheritance", "onset"})
_MARKS_ALONE = 3
_LOUD = 6
_OF_FORMS = frozenset({Want.GENE, Want.INHERITANCE, Want.RECURRENCE, Want.ONSET})
_OF_MODES = _OF_FORMS - {Want.GENE}
_MANY = frozenset({"HP:0010982", "HP:0001426", "HP:0010983", "HP:0010984"})
"""Modes of inheritance of several genes or causes, which make no "yes"."""
_LAST = frozenset({"ddxplus"})


@dataclass(frozen=True, slots=True)
class _Subject:
    label: str
    ids: frozenset[str]
    own: frozenset[str]
    """Those of its name; the others are of its forms."""


_Said = tuple[str, tuple[str, ...]]


def _united(groups: Mapping[Inference, list[EvidenceItem]]) -> dict[Inference, list[EvidenceItem]]:
    """Diseases by what they match, be it a symptom of one source or a finding of another."""
    found: dict[tuple[object, ...], Inference] = {}
    made: dict[Inference, list[EvidenceItem]] = {}
    for how, items in sorted(groups.items(), key=lambda pair: (-pair[0].matched, -len(pair[1]))):
        same = found.setdefault((how.matched, how.asked, tuple(map(str.casefold, how.objects))), how)
        made.setdefault(same, []).extend(items)
    return made


def focused(pack: EvidencePack, asked: Asked, language: str = "en", strict: bool = True) -> CitedText:
    """Write what was asked for from the evidence alone, each sentence with its marks.

    Example:
        >>> flu = Resolved("flu", ("Disease",), ("D:1",), ("flu",), "exact", 1.0)
        >>> print(focused(EvidencePack(resolved=(flu,)), Asked((Want.PREVALENCE,), ("flu",))).text[:66])
        Not in this graph: no source of it states the prevalence of flu; O
    """
    writer = _Writer(pack, asked, patterns_in(language))
    said = list(writer.said())
    sentences = [Sentence(text, cites, gap=writer.words.gap) for text, cites in said]
    lacks = not any(each.cites for each in sentences)
    return CitedText(tuple(sentences), insufficient=lacks, strict=strict, language=writer.words.language)


class _Writer:
    def __init__(self, pack: EvidencePack, asked: Asked, words: SentencePatterns) -> None:
        self.pack, self.asked, self.words = pack, asked, words
        self._treatments: list[EvidenceItem] = []
        self._foreign = False

    @cached_property
    def subjects(self) -> list[_Subject]:
        found: list[_Subject] = []
        for given in self.asked.subjects:
            known = [
                each
                for each in self.pack.resolved
                if each.given == given and {"Disease", "Phenotype"} & set(each.kinds)
            ]
            resolved = next((each for each in known if each.ids), known[0] if known else None)
            ids = frozenset(id for each in known for id in each.ids)
            own = frozenset(resolved.ids if resolved and resolved.method != "forms" else ())
            if not own or not any(own & each.own for each in found):  # one disease may be named in both languages
                found.append(_Subject(self._label(given, resolved), ids, own))
        named = [each.own for each in found]
        return [replace(each, ids=each.ids.difference(*named) | each.own) for each in found]

    def said(self) -> Iterator[_Said]:
        wants, known = self.asked.wants, any(subject.ids for subject in self.subjects)
        named = clean(self.asked.unused).replace(", ", self.words.comma[0])
        about = self.words.about.format(names=named) if named else ""
        if Want.SAFETY in wants:
            yield self.words.safety.format(about=about), ()
            return
        if outside := OUTSIDE.intersection(wants):
            yield from ((self.words.of_kind("outside", each), ()) for each in outside)
            return
        if Want.URGENCY in wants:
            yield self.words.urgency, ()
            if Want.DISEASE in wants or not known:
                return
        if lacking := [] if self.pack.answers or not named else [Want.SIDE_EFFECT, Want.USE]:
            told = [self._lacking(want, named) for want in lacking if want in wants]
            yield from ((text, ()) for text in told)
            if told:
                return
        if Want.DOSE in wants and not known:
            yield self.words.dose.format(about=about), ()
            return
        yield from self._answered()
        if self.asked.without:
            yield self.words.without.format(list=self.words.list([clean(each) for each in self.asked.without], 5)), ()
        if len(self.asked.unused) > 1:
            yield self.words.unused.format(words=clean(self.asked.unused)), ()
        if self._foreign:
            yield self.words.foreign, ()

    def _answered(self) -> Iterator[_Said]:
        yield from self._taken()
        if self.asked.unread and not self.subjects:
            yield self.words.uncounted.format(words=clean(self.asked.unread)), ()
            return
        if self.asked.others and self.subjects and self.subjects[0].ids:
            yield from self._whether()
            yield from self._all_lacking([(Want.LOCUS, self.subjects[0].label)] * (Want.LOCUS in self.asked.wants))
            return
        if {Want.DIFFERENCE, Want.SHARED} & set(self.asked.wants) and self.subjects and self.subjects[0].ids:
            yield from self._compared()
            if Want.SHARED in self.asked.wants or self.asked.wants == (Want.DIFFERENCE,):
                return
        if self.asked.unread and self.subjects and self.subjects[0].ids:
            label = self.subjects[0].label
            if quoted := [each for each in self.pack.items if each.details.get("about")]:
                yield from self._quotes(quoted, ROOM)
                return
            yield self.words.unread.format(words=clean(self.asked.unread), subject=label), ()
            return
        if Want.DISEASE in self.asked.wants or not self.subjects:
            yield from self._inferred()
            if not self.subjects:
                return
        wants = [want for want in self.asked.wants if want not in {Want.DISEASE, Want.DIFFERENCE, *UNTOLD}]
        room = max(LEAST_ROOM, ROOM // max(1, len(self.asked.wants) * len(self.subjects)))
        lacking: list[tuple[Want, str]] = []
        silent = dict.fromkeys(wants) if Want.DISEASE in self.asked.wants else {}
        if not any(subject.ids for subject in self.subjects):
            yield from self._unknown()
            return
        for subject in self.subjects:
            for want in wants:
                told = list(self._of(want, subject, room))
                yield from told
                if told:
                    silent.pop(want, None)
                if told and want is Want.DESCRIPTION and not self._aside(want) and not self._defined(subject):
                    lacking.append((want, subject.label))
                given = want in (Want.CODE, Want.NAMES) and "icd" not in self.pack.question.casefold()
                if not told and not given and not self._aside(want):
                    lacking.append((want, subject.label))
        labels = self.words.list([subject.label for subject in self.subjects], 3)
        yield from self._all_lacking([*lacking, *((want, labels) for want in silent)])
        if self._treatments:
            yield self._weighed(self._treatments)
            yield self.words.caution, ()

    def _defined(self, subject: _Subject) -> bool:
        return any(each.details.get("about") == PASSAGES[Want.DESCRIPTION] for each in self._about(subject))

    def _about(self, subject: _Subject) -> list[EvidenceItem]:
        return [each for each in self.pack.items if each.subject is not None and each.subject.id in subject.ids]

    def _taken(self) -> Iterator[_Said]:
        about = () if Want.DISEASE in self.asked.wants else self.asked.subjects  # the diseases found are not asked of
        for given in (*about, *self.asked.others):
            each = next((one for one in self.pack.resolved if one.given == given and one.ids), None)
            unsure = ("edit", "encoder", "short") if given in self.asked.subjects else ("edit", "encoder")
            code = _ID.fullmatch(given) is not None and given in self.pack.question
            typed = code or {Want.CODE, Want.NAMES} & set(self.asked.wants)
            if each is not None and typed:
                pairs = list(zip(each.ids, each.names, strict=False))
                asked = tuple(begin for begin, words in _SAID["id"].items() if words.search(self.pack.question))
                if asked and not any(id.startswith(asked) for id, _ in pairs):
                    yield self.words.no_code.format(subject=clean(given)), ()
                pairs = [pair for pair in pairs if pair[0].startswith(asked)] or pairs
                ids = self.words.list([f"{clean(self._in_language(id, name))} ({id})" for id, name in pairs], 9)
                yield self.words.identified.format(given=clean(given), list=ids), ()
            elif each is not None and each.method in unsure:
                label = self._label(given, each)
                yield self.words.taken.format(given=clean(given), name=label), ()

    def _of(self, want: Want, subject: _Subject, room: int) -> Iterator[_Said]:
        if want is Want.FORMS:
            yield from self._forms(subject)
            return
        if want is Want.ABSENT and not any(each.relation == "LACKS_PHENOTYPE" for each in self.pack.items):
            yield self.words.none_absent.format(subject=subject.label), ()
            return
        items = self._about(subject)
        stated = [each for each in items if each.kind == "relation" and aspect_in(each) in self._stating(want)]
        if want is Want.TEST and not stated and Want.SYMPTOM not in self.asked.wants:
            stated = [each for each in items if aspect_in(each) == "HAS_PHENOTYPE"]  # of the laboratory alone
            genes = list(self._of(Want.GENE, subject, room))
            yield from ((self._lacking(want, subject.label), ()), *genes, *[(self.words.gene_test, ())] * bool(genes))
        stated = [each for each in stated if not any(self._empty(subject, node) for node in each.objects)]
        room = ROOM if want in _OF_MODES else room  # a mode of inheritance left out is one denied
        passages = [
            each for each in items if each.kind == "description" and each.details.get("about") == PASSAGES.get(want, "")
        ]
        listed = [each for each in passages if each.relation in _LISTS]
        quoted = [each for each in passages if each not in listed]
        native = [each for each in quoted if each.language == self.words.language]
        if want is Want.CAUSE or (want is Want.DESCRIPTION and native):
            yield from self._quotes(quoted, room)
            yield from self._listing(stated, subject, want, room)
            return
        if want is Want.DESCRIPTION and quoted:
            room = LEAST_ROOM  # what it shows in leaves room for what it is, though in another language
        mine = [each for each in stated if want in _OF_FORMS and each.subject and each.subject.id in subject.own]
        if mine:
            named_here = {each.objects[0].id for each in mine}
            further = [each for each in stated if each.objects[0].id not in named_here]
            again = [each for each in stated if want is Want.GENE and each not in further]
            yield from self._listing(again or mine, subject, want, room)
            if further:
                listed_forms, cites = self._list(self._by_form(further), room)
                yield self.words.of_forms_also.format(list=listed_forms), cites
        elif stated:
            if want in _OF_FORMS:
                names = dict.fromkeys(each.subject.name for each in stated if each.subject is not None)
                forms = self.words.list([clean(name) for name in names], 3)
                label = self.words.of_forms[len(names) > 3].format(forms=forms, n=len(names), subject=subject.label)
                subject = replace(subject, label=label)
            own = [each for each in stated if each.details.get("own")]
            for relation in dict.fromkeys(map(aspect_in, stated)) if want is Want.CURE else ("",):
                same = [each for each in own or stated if relation in ("", aspect_in(each))]
                yield from self._listing(same, subject, want, room)
            self._treatments += stated if want in TREATMENTS else []
        if listed:
            yield from self._items(listed, subject, want)
        if self._aside(want) and not native:
            return
        if want in (Want.SYMPTOM, Want.TEST, Want.DRUG, Want.CURE, Want.COMORBIDITY) and stated:
            return
        beside = (stated or listed) and want is not Want.DESCRIPTION
        yield from self._quotes(native if beside else quoted, room)

    def _by_form(self, stated: Sequence[EvidenceItem]) -> list[Thing]:
        """What is stated of forms of a disease, each with the forms that it is stated of."""
        things = self._things(stated)
        for each in things:
            of = dict.fromkeys(one.subject.name for one in stated if one.subject is not None and one.id in each.cites)
            first = clean(next(iter(of)))
            each.shown, each.bare = (
                f"{name} ({first})" if len(of) == 1 else self.words.forms.format(name=name, n=len(of))
                for name in (each.shown, each.bare)
            )
        return things

    def _forms(self, subject: _Subject) -> Iterator[_Said]:
        """The forms of a disease of which genes are stated, with these."""
        found: dict[str, Thing] = {}
        for each in self.pack.items:
            of = each.subject
            if each.kind == "relation" and of is not None and of.id in subject.ids - subject.own:
                thing = found.setdefault(form(of.name).key, Thing(of.name, "", [], set(), 0.0, True))
                thing.cites.append(each.id)
                thing.sources.add(each.objects[0].name)
        for thing in found.values():
            thing.shown = thing.bare = f"{clean(thing.shown)} ({self.words.list(sorted(thing.sources), 3)})"
        if found:
            begin = self.words.count.format(n=len(found)) if _WORDS["how_many"].search(self.pack.question) else ""
            text, cites = self._list(sorted(found.values(), key=lambda each: each.shown), ROOM)
            yield begin + self.words.form_list.format(subject=subject.label, list=text), cites

    def _empty(self, subject: _Subject, node: PathNode) -> bool:
        named = {node.name.casefold(), clean(self._in_language(node.id, node.name, original=False)).casefold()}
        return is_detail(node.id) or (node.label != "Gene" and subject.label.casefold() in named)

    def _stating(self, want: Want) -> Sequence[str]:
        if want is Want.DESCRIPTION and Want.SYMPTOM in self.asked.wants:
            return ()
        if want is Want.CURE and Want.DRUG in self.asked.wants:
            return ("RECOMMEND_CURE",)
        return STATED.get(want, ())

    def _listing(self, stated: Sequence[EvidenceItem], subject: _Subject, want: Want, room: int) -> Iterator[_Said]:
        if not stated:
            return
        entries = {each.subject.id for each in stated if each.subject is not None}
        several = len(entries) > 1 < len({each.objects[0].id for each in stated})
        apart = several and want in _OF_MODES and not entries & subject.own
        apart |= want is Want.ABSENT and len(subject.ids) > 1
        things = self._by_form(stated) if apart else self._things(stated)
        aspect = STATED[want][0] if want is not Want.CURE else aspect_in(stated[0])
        aspect = aspect if any(aspect_in(each) == aspect for each in stated) else aspect_in(stated[0])
        said = _SAID[_KINDS[want]] if want in _KINDS else None
        whole = [each for each in self._about(subject) if aspect_in(each) in STATED[want]]  # of its forms, too
        begin = self._agreeing(whole, said) if self.asked.whether and said else ""
        begin = self.words.count.format(n=len(things)) if _WORDS["how_many"].search(self.pack.question) else begin
        aspect = "LABORATORY" if want is Want.TEST and aspect == "HAS_PHENOTYPE" else aspect
        what = self.words.statement(aspect, several=len(things) > 1)
        listed, cites = self._list(things, room - len(begin) - len(what) - len(subject.label) - 10)
        text = self.words.relation[len(things) > 1].format(what=what, subject=subject.label, list=listed)
        yield begin + (text[0].lower() + text[1:] if begin and text[:4] == "The " else text), cites
        if want is Want.GENE and len(things) > 1:
            yield self.words.causal, ()
            if _WORDS["most_of"].search(self.pack.question):
                yield self.words.unweighed, ()
        if want is Want.ABSENT:
            yield self.words.unlisted, ()
        modes = dict.fromkeys(node.id for each in stated for node in each.objects)
        if want is Want.RECURRENCE and (
            entries & subject.own or len(entries) >= len(subject.own)
        ):  # no rare form's rule
            yield from ((rule, ()) for id in modes if (rule := note_of(id, self.words.language)))

    def _agreeing(self, stated: Sequence[EvidenceItem], said: Mapping[str, re.Pattern[str]]) -> str:
        """How an answer begins to a question whether a disease is inherited, in a certain mode, or from some age on."""
        modes = {node.id: node.name.casefold() for each in stated for node in each.objects}
        if self.asked.unused or _MANY & modes.keys() or _WORDS["of_parents"].search(self.pack.question):
            return ""
        question = self.pack.question.replace(self.asked.subjects[0], "")
        asked = [mode for mode, words in said.items() if words.search(question)]
        if said is _SAID["age"] and not asked:
            return ""
        if not asked or any(all(mode in name for mode in asked) for name in modes.values()):
            return str(self.words.yes)
        return str(self.words.other_mode)

    def _items(self, listed: Sequence[EvidenceItem], subject: _Subject, want: Want) -> Iterator[_Said]:
        groups: dict[str, list[Thing]] = {}
        for each in listed:
            shown = clean(self._in_language("", each.text))
            groups.setdefault(each.relation, []).append(Thing(shown, shown, [each.id], set(each.sources), 0.0, True))
        for kind, things in groups.items():
            noun = wanted(want.value, self.words.language) if kind == want.value else self.words.of_kind("kinds", kind)
            text, cites = self._list(merged(things), ROOM // 2)
            yield self.words.listed.format(subject=subject.label, noun=noun, list=text), cites

    def _quotes(self, passages: Sequence[EvidenceItem], room: int) -> Iterator[_Said]:
        native = [each for each in passages if each.language == self.words.language]
        shown = native[:QUOTED] or passages[:1]
        left = max(room, LEAST_ROOM * 2)
        for number, each in enumerate(shown):
            if number and left < len(each.text):
                return
            left -= len(each.text)
            foreign = each.language != self.words.language
            named = {"text": clean(each.text, 400).rstrip(" .。"), "source": ", ".join(each.sources)}
            yield self.words.quoted[foreign].format(**named, mark=f"[{each.id}]"), (each.id,)

    def _weighed(self, stated: Sequence[EvidenceItem]) -> _Said:
        sources = list(dict.fromkeys(source for each in stated for source in each.sources))
        weighed = [
            self.words.worth.format(name=name, worth=worth)
            if (worth := weights(self.words.language).get(name))
            else name
            for name in sources
        ]
        cites = tuple(each.id for each in stated[:1])
        listed = self.words.list(weighed, 5)
        return self.words.weighed[len(sources) > 1].format(n=len(sources), sources=listed, mark=marks_of(cites)), cites

    def _whether(self) -> Iterator[_Said]:
        several = len(self.subjects) > 1 or len(self.asked.others) > 1
        found = [(subject, *self._recorded(subject)) for subject in self.subjects]
        sure = not any(missing for *_, missing in found) and self.asked.whether
        if self.asked.absent and not any(missing for *_, missing in found):
            yield self.words.all_recorded, ()
        for number, (subject, stated, lacks, missing) in enumerate(found):
            yes = self.words.unsure if _WORDS["always"].search(self.pack.question) else self.words.yes
            told = [self._stated(stated, subject, yes if sure and not number else "")] if stated else []
            if lacks:
                listed, cites = self._list(lacks, ROOM // 2)
                told.append((self.words.no.format(subject=subject.label, list=listed), cites))
            if missing and (several or not told):
                told.append((self.words.unstated.format(subject=subject.label, other=self.words.list(missing, 5)), ()))
            yield from reversed(told) if self.asked.absent else told

    def _recorded(self, subject: _Subject) -> tuple[list[EvidenceItem], list[Thing], list[str]]:
        about = self._about(subject)
        lacks = [each for each in about if each.relation == "LACKS_PHENOTYPE"]
        stated = [each for each in about if each.kind == "relation" and each not in lacks]
        told = [each for each in about if each.details.get("about")]
        if not (stated or lacks) and told:
            return told, [], []
        meant = {given for each in (*stated, *lacks) for given in each.details.get("meant", ())}
        known = meant & set(self.asked.others) or (set(self.asked.others) if stated or lacks else set())
        return stated, self._things(lacks), [clean(each) for each in self.asked.others if each not in known]

    def _stated(self, stated: Sequence[EvidenceItem], subject: _Subject, begin: str) -> _Said:
        if stated[0].kind != "relation":
            return next(self._quotes(stated, ROOM))
        things = self._things(stated)
        what = self.words.statement(aspect_in(stated[0]), several=len(things) > 1)
        listed, cites = self._list(things, ROOM // (1 + len(self.subjects)))
        text = self.words.relation[len(things) > 1].format(what=what, subject=subject.label, list=listed)
        return begin + (text[0].lower() + text[1:] if begin and text[:4] == "The " else text), cites

    def _compared(self) -> Iterator[_Said]:
        subjects, shared_alone = self.subjects[:4], Want.SHARED in self.asked.wants
        if len(subjects) == 1:
            known = (each for each in self.pack.resolved if each.given in self.asked.subjects)
            meant = [frozenset(each.ids) for each in known if each.ids]
            same = len(self.asked.subjects) > 1 and len(set(meant)) == 1
            names = self.words.list(list(dict.fromkeys(map(clean, self.asked.subjects))), 4)
            yield (self.words.same.format(names=names) if same else self.words.single.format(subject=names)), ()
            return
        found = []
        compared = Want.GENE if shared_alone and Want.GENE in self.asked.wants else Want.SYMPTOM
        for subject in subjects:
            items = self._about(subject)
            stated = [each for each in items if each.kind == "relation" and aspect_in(each) in STATED[compared]]
            stated = [each for each in stated if not any(self._empty(subject, node) for node in each.objects)]
            found.append({each.shown.split(" (")[0].casefold(): each for each in self._things(stated)})
        names = self.words.list([each.label for each in subjects], 4)
        if _WORDS["same"].search(self.pack.question):
            yield self.words.different.format(names=names), ()
        common = [key for key in found[0] if all(key in each for each in found[1:])]
        shared = [replace(found[0][key], cites=[id for each in found for id in each[key].cites]) for key in common]
        shared.sort(key=lambda each: -sum(mine[each.shown.split(" (")[0].casefold()].weight for mine in found))
        if shared:
            text, cites = self._list(shared, ROOM if shared_alone else ROOM // 3)
            yield self.words.shared[len(subjects) > 2].format(names=names, list=text), cites
        elif all(found):
            yield self.words.unshared.format(names=names), ()
        for subject, mine in zip(subjects, found, strict=True):
            others = [key for yours in found if yours is not mine for key in yours]
            alone = [each for key, each in mine.items() if not any(key in one or one in key for one in others)]
            if alone and not shared_alone:
                text, cites = self._list(alone, ROOM // 3)
                rest = self.words.alternatives([each.label for each in subjects if each is not subject])
                yield self.words.alone.format(subject=subject.label, others=rest, list=text), cites
            for want in () if shared_alone else sorted(_OF_FORMS.difference(self.asked.wants, (Want.RECURRENCE,))):
                yield from self._of(want, subject, LEAST_ROOM)
            if not mine:
                yield self._lacking(Want.DIFFERENCE, subject.label), ()

    def _inferred(self) -> Iterator[_Said]:
        groups = _united(inferred(self.pack.items))
        most = next(iter(groups)).matched if groups else 0
        best = [each for each in groups.items() if each[0].matched == most]
        for how, items in best[:3]:
            families: dict[str, list[EvidenceItem]] = {}
            for item in items:
                families.setdefault(same_name(item.subject.name if item.subject else ""), []).append(item)
            things = sorted(map(self._family, families.values()), key=lambda each: not each.native)
            text, cites = self._list(things, ROOM // min(len(best), 3) - 60)
            count = self.words.at_least if len(items) >= _MANY_ROWS else self.words.count
            begin = count.format(n=len(things)) if _WORDS["how_many"].search(self.pack.question) else ""
            said = self.words.inferred(how, text, len(things), 6)
            yield begin + (said[0].lower() + said[1:] if begin else said), cites
        if not groups:
            yield from self._unknown()
        kinds = {
            ("Symptom",) if item.action == "infer_by_symptom" else ("Phenotype",) for _, one in best for item in one
        }
        lost = [each.given for each in self.pack.resolved if {each.kinds} == kinds and not each.ids]
        if groups and lost:
            yield self.words.unused.format(words=clean(" ".join(lost))), ()

    def _unknown(self) -> Iterator[_Said]:
        unknown = [each for each in self.pack.resolved if not each.ids]
        unknown = [each for each in unknown if not any(each.given in one.given != each.given for one in unknown)]
        unknown = unknown or [Resolved(each.label) for each in self.subjects if not each.ids]
        for each in unknown[:3]:
            yield unknown_name(each, self.words), ()
        if not unknown:
            yield (self.words.nothing if self.pack.nothing else self.words.unnamed), ()

    def _family(self, members: Sequence[EvidenceItem]) -> Thing:
        cites = [each.id for each in members]
        if len(members) == 1:
            bare = self._named(members[0], original=False)
            native = language_of(bare) == self.words.language
            return Thing(self._named(members[0]), bare, cites, set(), 0.0, native)
        name = self._named(members[0], original=False)
        number = len({form(each.subject.name).key for each in members if each.subject is not None})
        shown = self.words.forms.format(name=stem(name), n=number) if number > 1 else name
        return Thing(shown, shown, cites, set(), 0.0, True)

    def _named(self, item: EvidenceItem, *, original: bool = True) -> str:
        subject = item.subject
        if subject is None:
            return ""
        name = subject.name.capitalize() if subject.name.isupper() and len(subject.name) > _LOUD else subject.name
        return clean(self._in_language(subject.id, name or subject.id, original=original))

    def _things(self, stated: Iterable[EvidenceItem]) -> list[Thing]:
        things = []
        for each in stated:
            name = ", ".join(self._in_language(node.id, node.name or node.id) for node in each.objects)
            original = ", ".join(node.name or node.id for node in each.objects)
            native = language_of(original) == self.words.language
            bare = ", ".join(self._in_language(node.id, node.name or node.id, original=False) for node in each.objects)
            years = note_of(each.objects[0].id, self.words.language) if aspect_in(each) == "ONSET" else ""
            said = (f" ({years})" if years else "") + often(each)
            shown, short = (clean(one) + said for one in (name, bare))
            rare = self.asked.rarity(each.objects[0].id)
            things.append(Thing(shown, short, [each.id], set(each.sources), weight_of(each), native, rare))
        unique = merged(things)
        return sorted(unique, key=lambda each: (each.sources <= _LAST, not each.native, -each.worth))

    def _list(self, things: Sequence[Thing], room: int) -> _Said:
        if len(things) > _MARKS_ALONE and self.words.language == "zh":
            things = [replace(each, shown=each.bare) for each in things]
        shown: list[Thing] = []
        size = 0
        for each in things:
            size += len(each.shown) + 2
            if shown and size > room:
                break
            shown.append(each)
        foreign = (each.bare for each in shown if language_of(each.bare) != self.words.language)
        self._foreign |= any(not name.isupper() for name in foreign)
        cites = tuple(dict.fromkeys(id for each in shown for id in each.cites))
        space = "" if self.words.language == "zh" else " "
        if len(shown) <= _MARKS_ALONE:
            names = [each.shown + space + marks_of(each.cites) for each in shown]
            return self._counted(names, len(things)), cites
        return self._counted([each.shown for each in shown], len(things)) + space + marks_of(cites), cites

    def _counted(self, names: list[str], count: int) -> str:
        return self.words.list([*names, *[""] * (count - len(names))], len(names))

    def _aside(self, want: Want) -> bool:
        overview = {Want.DESCRIPTION, Want.SYMPTOM, Want.COMORBIDITY} <= set(self.asked.wants)
        return Want.DISEASE in self.asked.wants or (overview and want is Want.DESCRIPTION)

    def _all_lacking(self, lacking: Sequence[tuple[Want, str]]) -> Iterator[_Said]:
        by_label: dict[str, list[Want]] = {}
        for want, label in lacking:
            by_label.setdefault(label, []).append(want)
        for label, wants in by_label.items():
            if len(wants) == 1:
                yield self._lacking(wants[0], label), ()
                continue
            nouns = self.words.alternatives([wanted(want.value, self.words.language) for want in wants])
            yield self.words.lacking_several.format(nouns=nouns, subject=label), ()

    def _lacking(self, want: Want, label: str) -> str:
        language, subject = self.words.language, clean(label)
        sources = [wanted(each, language) for each in bringing(want.value, self.asked.loaded)]
        if not sources:
            return self.words.lacking_several.format(nouns=wanted(want.value, language), subject=subject)
        source = self.words.alternatives(sources)
        return self.words.lacking.format(noun=wanted(want.value, language), subject=subject, source=source)

    def _label(self, given: str, resolved: Resolved | None) -> str:
        if resolved is None or not resolved.ids:
            return clean(given)
        exact = resolved.method in ("exact", "normalised", "same", "forms") and not _ID.fullmatch(given)
        if exact and language_of(given) == self.words.language:
            return clean(given)
        names = [self.pack.called.get(id, {}).get(self.words.language) for id in resolved.ids]
        every = [name for name in (*names, resolved.matched) if name and language_of(name) == self.words.language]
        every = every or [resolved.matched or resolved.names[0]]
        return clean(next((name for name in every if name[:1].isupper()), every[0]))

    def _in_language(self, id: str, name: str, *, original: bool = True) -> str:
        language = self.words.language
        if language_of(name) == language:
            return name
        known = in_english(name) if language == "en" else in_chinese(id, name)
        other = self.pack.called.get(id, {}).get(language) or known
        if not other or not original:
            return other or name
        return f"{other} ({name})" if language == "en" else f"{other}（{name}）"
