"""A consultation with a person: one question after the other, in English or Chinese, answered in words or by status.

It is an episode that waits: all that it knows is in the log, so it is copied, cut, saved and gone on with as a log is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import ValidationError

from kgdx.answer.artifacts import ranking_of
from kgdx.answer.consultation_record import kind_of, number_of, record_of
from kgdx.case import Case, Finding, Status
from kgdx.case.ddxplus_release import PREFIX, evidence_words, evidences
from kgdx.case.patient import valid
from kgdx.case.phenopacket import case_to_phenopacket
from kgdx.episode.loop import Episode, answered, begin
from kgdx.episode.loop import run as run_episode
from kgdx.episode.policy import POLICIES, Policy, make_policy
from kgdx.episode.resume import resume
from kgdx.episode.segment import Author, Kind, Segment, error_of, load
from kgdx.episode.state import Limits, State
from kgdx.episode.turns import leaders_of, turns_of
from kgdx.episode.wish import MAX_WORDS, AskPatient, Reply
from kgdx.episode.world import World
from kgdx.errors import CaseError, UsageError
from kgdx.lazy import lazy_pattern
from kgdx.rank.complaints import said_complaints, wordings
from kgdx.results.consulted import (
    Choice,
    ConsultationClosing,
    ConsultationDocument,
    ConsultationRecord,
    FindingDocument,
    Language,
    Lead,
    QuestionDocument,
    ToSettle,
    TurnDocument,
    percent,
    say,
)
from kgdx.terms.normalise import has_chinese
from kgdx.terms.replies import STATUSES, ReplyMeaning, read_reply

if TYPE_CHECKING:
    from kgdx.actions.graph_context import GraphContext
    from kgdx.answer.diagnosis import Diagnosis
    from kgdx.episode.policy import Policy

Transcript = Mapping[str, Any] | Iterable[Segment] | str | Path
"""What can be gone on with: :meth:`Consultation.to_dict`, a log, or the file of one."""

PATIENCE = Limits(steps=100_000, stagnation=1_000, errors=1_000)
"""A person decides when it is enough, and a step that fails ends nothing."""

FOR_PEOPLE = {
    "patient": True,
    "narrow": 8,
    "unchanged": 5,
    "complaints": True,
    "kinds": ("phenotype", "evidence", "symptom", "history"),
}
"""Settings with which people are asked: at all; after a yes, which kind; openly after five that changed nothing."""


def asking_policy(name: str | None, settings: Mapping[str, Any]) -> Policy:
    """Return the policy of a name, by default the first that asks patients, set for people."""
    chosen = name or next(each for each in POLICIES.builtin if POLICIES.get(each).capabilities.asks)
    return make_policy(chosen, settings, **{key: each for key, each in FOR_PEOPLE.items() if key not in settings})


def asking(policy: Policy) -> Policy:
    """Return a policy that asks patients."""
    if not (policy.capabilities.asks or policy.capabilities.may_ask):
        can = ((name, kind.capabilities) for name, kind in POLICIES.items())
        able = ", ".join(name for name, each in can if each.asks or each.may_ask)
        raise UsageError(f"the policy {policy.name} asks no patient", hint=f"take one of {able}")
    return policy


def begun(graph: GraphContext, world: World, policy: Policy, case: Case, seed: int) -> Episode:
    """Return a new consultation's episode until it first waits."""
    start = begin(case, policy, seed=seed, limits=PATIENCE, fingerprint=graph.fingerprint)
    return run_episode(world, start, policy)


def resumed(world: World, policy: Policy, log: Sequence[Segment]) -> Episode:
    return run_episode(world, resume(world, log), policy)


def verified(graph: GraphContext, world: World, policy: Policy, log: Sequence[Segment]) -> Episode:
    """Return the episode of a log that somebody else kept, if it is what comes of its answers on this graph.

    Nothing of the log is believed but the patient, the settings and the answers: all else is done again, and compared.

    Args:
        world: What the episode acts on; without models.
    """
    given = resume(World(), log[:1])
    episode = begun(graph, world, policy, given.case, given.seed)
    for segment in log:
        if not episode.waiting:
            break
        if segment.author is Author.PATIENT:
            episode = run_episode(world, answered(episode.state, _said(segment)), policy)
        elif segment.author is Author.USER:
            episode = run_episode(world, finished(episode.state), policy)
    if episode.log[: len(log)] != tuple(log):
        hint = "send back what was sent, or begin again"
        raise UsageError("the transcript was changed, or is of another version of kgdx", hint=hint)
    return episode


def _said(segment: Segment) -> Reply:
    try:
        return Reply.model_validate({**segment.data, **segment.words})
    except ValidationError as error:
        hint = "send back what was sent, or begin again"
        raise UsageError("the transcript has an answer that is none", hint=hint) from error


def finished(state: State) -> State:
    return state.add(Segment(Author.USER, Kind.LIMIT, "finished"))


def log_of(transcript: Transcript) -> tuple[Segment, ...]:
    """Return the log of what can be gone on with.

    Example:
        >>> log_of({"transcript": []})
        Traceback (most recent call last):
            ...
        kgdx.errors.UsageError: the transcript is empty: give one that kgdx wrote, whole
    """
    if isinstance(transcript, str | Path):
        try:
            log = load(Path(transcript).read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            hint = "give one that kgdx wrote"
            raise CaseError(f"the transcript {transcript} cannot be read ({error})", hint=hint) from error
    elif isinstance(transcript, Mapping):
        given = transcript.get("transcript")
        if not isinstance(given, list) or not all(isinstance(each, Mapping) for each in given):
            raise UsageError("the transcript has no log", hint="give what a consultation wrote, whole")
        log = tuple(Segment.from_dict(each) for each in given)
    else:
        log = tuple(transcript)
    if not log:
        raise UsageError("the transcript is empty", hint="give one that kgdx wrote, whole")
    return log


Keep = Callable[[tuple[Segment, ...]], None]
"""Given the whole log whenever it has changed, to put it where nothing is lost."""

EXAMINED = 6
"""How much to examine is named."""
SHOWN = 3
"""Leading diseases that an explanation names."""
_LISTED = lazy_pattern(r"[,，、;；]")


class Consultation:
    """A consultation that waits for answers; made by :meth:`Graph.consult <kgdx.api.Graph.consult>`."""

    def __init__(
        self,
        graph: GraphContext,
        world: World,
        policy: Policy,
        episode: Episode,
        diagnosed: Callable[[Episode], Diagnosis],
        keep: Keep | None = None,
    ) -> None:
        self._graph, self._world, self._policy = graph, world, policy
        self._diagnosed, self._keep = diagnosed, keep
        self.heard: tuple[Finding, ...] = ()
        """Findings that the last answer brought."""
        self.speaks: Language | None = None
        """Language to go on in, whatever it was so far."""
        self.unread = False
        """Whether the last answer was words in which nothing could be read; they are kept."""
        self.contradictions: tuple[str, ...] = ()
        """What the last answer contradicts, in words."""
        self._asked: dict[Language, QuestionDocument | None] = {}
        self._episode = _sound(episode)
        self._told()

    @property
    def log(self) -> tuple[Segment, ...]:
        return self._episode.log

    @property
    def waiting(self) -> bool:
        return self._episode.waiting

    @property
    def known(self) -> bool:
        return bool(self._episode.state.case.observed)

    @property
    def language(self) -> Language:
        """Language of the questions: the one that was asked for, or that of the patient's words."""
        wanted = self.speaks or getattr(self._policy, "speaks", None)
        return self._heard_in if wanted is None else "zh" if wanted == "zh" else "en"

    @property
    def differential(self) -> tuple[Lead, ...]:
        """The leading diseases with their shares, best first; empty while nothing is known."""
        found = next((found for each in reversed(self.log) if (found := leaders_of(each))), ())
        return tuple(Lead(id=each.id, name=self._disease(each.id, each.name), share=each.share) for each in found)

    @property
    def question(self) -> QuestionDocument | None:
        """The question that waits for its answer; ``None`` where there is none any more."""
        if (language := self.language) not in self._asked:
            self._asked[language] = self._question()
        return self._asked[language]

    def _question(self) -> QuestionDocument | None:
        asked = self._episode.state.pending
        if not isinstance(asked, AskPatient):
            return None
        before, kind = turns_of(self._episode.state), kind_of(asked)
        name = self._name(asked.term, asked.label) if asked.term else ""
        key = kind if kind != "open" else "else" if self.known else "again" if len(before) > 1 else "open"
        way = self._graph.ranker.proposer.way(asked.term) if key == "finding" and asked.term else ""
        return QuestionDocument(
            number=number_of(before),
            kind=kind,
            term=asked.term,
            label=asked.label,
            name=name,
            text=asked.spoken or self._worded(asked) or say(f"finding_{way}" if way else key, self.language, name=name),
            why=self._why(asked),
            gain=asked.gain,
            options=self._options(asked),
        )

    @property
    def record(self) -> ConsultationRecord:
        """The record: complaint, findings, examinations, questions with their answers, differential by turn."""
        record = record_of(self.log)
        findings, told = map(self._named, record.findings), map(self._in_words, record.turns)
        named = {"findings": tuple(findings), "turns": tuple(told), "differential": self.differential}
        return record.model_copy(update=named | {"language": self.language})

    @property
    def closing(self) -> ConsultationClosing | None:
        """How it ended, what must not be missed, and what to examine; ``None`` while a question waits."""
        if self.waiting:
            return None
        leaders, asked = self.differential, number_of(turns_of(self._episode.state))
        case, ranker = self._episode.state.case, self._graph.ranker
        proposer, unproven = ranker.proposer, list[tuple[str, str]]()
        ended: Literal["certain", "likely", "settled", "limit", "finished", "nothing"] = "settled"
        if not self.known:
            ended = "nothing"
        elif any(each.author is Author.USER and each.name == "finished" for each in self.log):
            ended = "finished"
        elif leaders and leaders[0].share >= getattr(self._policy, "certain", 1.0):
            sure, unproven = proposer.settling(case, ranker.number_of(leaders[0].id))
            ended = "certain" if sure else "likely"
            flagged = self._flagged(case, leaders[0].id) if sure else ()
            unproven = [(each.id, f"{each.name} ({each.settled_by})") for each in flagged[:1]] or unproven
            ended = "likely" if flagged else ended
        elif asked >= getattr(self._policy, "questions", asked + 1):
            ended = "limit"
        first = leaders[0] if leaders else Lead(id="", name="", share=0.0)
        tests = ", ".join(self._name(id, label) for id, label in unproven)
        said = {"name": first.name, "share": percent(first.share), "count": asked, "tests": tests}
        examined = proposer.left_to_examine(case, said_complaints(case.text))[:EXAMINED] if self.known else ()
        return ConsultationClosing(
            ended=ended,
            text=say("end_unproven" if ended == "likely" and not unproven else f"end_{ended}", self.language, **said),
            not_to_miss=self._dangerous() if self.known else (),
            to_examine=tuple(Choice(id=id, label=label, name=self._name(id, label)) for id, label in examined),
        )

    def _flagged(self, case: Case, first: str) -> tuple[ToSettle, ...]:
        """Return what must not be missed and has a finding that decides about the complaint and the first has not."""
        ranker, lane = self._graph.ranker, self._dangerous()
        numbers = [ranker.number_of(each.id) for each in lane]
        of = ranker.proposer.unexplained(case, ranker.number_of(first), numbers, said_complaints(case.text))
        return tuple(each for each, number in zip(lane, numbers, strict=True) if number in of)

    def _dangerous(self) -> tuple[ToSettle, ...]:
        judgement = self._graph.ranker.rank(self._episode.state.case, top=1).judgement
        zh, named = self.language == "zh", () if judgement is None else judgement.dangerous
        told = ((each, (zh and each.settled_by_zh) or each.settled_by) for each in named)
        return tuple(ToSettle(id=at.id, name=self._disease(at.id, at.name), settled_by=by) for at, by in told)

    @property
    def diagnosis(self) -> Diagnosis:
        """The diseases as they are ranked with what is known now; the consultation itself goes on unchanged."""
        episode = self._episode
        if episode.waiting:
            episode = run_episode(self._world, finished(episode.state), self._policy)
        if not self.known:
            raise CaseError(say("nothing", self.language), hint="name a finding, or begin with another description")
        return self._diagnosed(episode)

    def to_phenopacket(self) -> dict[str, Any]:
        return case_to_phenopacket(self._episode.state.case)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values, the patient's words among them.

        :meth:`Graph.consult` goes on from it.
        """
        record = self.record
        document = ConsultationDocument(
            question=self.question,
            language=self.language,
            heard=tuple(
                self._named(
                    FindingDocument(
                        id=each.id,
                        label=each.label,
                        status=str(each.status),
                        source="asked" if each.method == "asked" else "read",
                    )
                )
                for each in self.heard
            ),
            contradictions=self.contradictions,
            unread=self.unread,
            differential=self.differential,
            closing=self.closing,
            record=record,
            transcript=[each.to_dict(private=True) for each in self.log],
        )
        whole = document.model_dump(mode="json", by_alias=True, exclude={"record"})
        return whole | {"record": record.to_dict()}

    def answer(self, said: str | bool | Reply | None, *, number: int | None = None) -> QuestionDocument | None:
        """Answer the question that waits, or that of a number, where it may be another by now; return the next one.

        Words are English or Chinese ("yes, in both hands", ``?``, ``三天前开始``), also "skip", "back" and "finish";
        ``None`` is not known.
        """
        asked = self._pending(number)
        if isinstance(said, Reply):
            return self._take(said)
        if not isinstance(said, str):
            named = "unknown" if said is None else "present" if said else "absent"
            return self._take(Reply.model_validate({"status": named}))
        if len(said) > MAX_WORDS:
            hint = f"say it in at most {MAX_WORDS:,} characters"
            raise UsageError(f"the answer has {len(said):,} characters", hint=hint)
        said = valid(said)
        meant = read_reply(said)
        if meant.meaning == "why":
            return self.question
        if meant.meaning == "back":
            return self.back()
        if meant.meaning == "finish":
            return self.finish()
        if meant.meaning == "skip":
            return self.skip()
        names = [] if self.question is None else [each.name for each in self.question.options]
        return self._take(_reply_to(self._graph, asked, said, names))

    def reply(self, status: str | None, named: Sequence[str] = (), text: str = "") -> Reply | str:
        """Return an answer that was given by status, by chosen options, or in words."""
        options = dict(self._pending(None).options)
        for id in named:
            if id not in options:
                raise UsageError(f"{id[:60]} is not among the options", hint="choose one of those that are shown")
        if named:
            first, *more = ((id, options[id]) for id in dict.fromkeys(named))
            return Reply(status=Status.PRESENT, term=first[0], label=first[1], more=tuple(more))
        if status is not None:
            return Reply.model_validate({"status": status, "text": text})
        if not text.strip():
            raise UsageError("the answer is empty", hint="give a status, options, or words")
        return text

    def skip(self) -> QuestionDocument | None:
        """Pass over the question; it is not asked again."""
        self._pending(None)
        return self._take(Reply(skipped=True))

    def back(self) -> QuestionDocument | None:
        """Take the last answer back, as if it had never been given, and ask its question again."""
        given = [each for each in turns_of(self._episode.state) if each.reply is not None]
        if not given:
            raise UsageError(say("first", self.language), hint="answer it, or finish")
        self._go_on(resume(self._world, self.log[: given[-1].at + 1]))
        self.heard, self.contradictions, self.unread = (), (), False
        return self.question

    def finish(self) -> QuestionDocument | None:
        """Ask no more, and rank the diseases; there is no next question."""
        self._pending(None)
        self._go_on(finished(self._episode.state))
        self.unread = False
        return self.question

    def _pending(self, number: int | None) -> AskPatient:
        asked = self._episode.state.pending
        if not isinstance(asked, AskPatient):
            raise UsageError("no question waits for an answer: the consultation has ended", hint="begin another one")
        now = number_of(turns_of(self._episode.state))
        if number is not None and number != now:
            hint = "answer the question that is shown, or go back to the other"
            raise UsageError(f"question {number} does not wait for an answer, but question {now} does", hint=hint)
        return asked

    def _take(self, reply: Reply) -> QuestionDocument | None:
        self._go_on(answered(self._episode.state, reply))
        self.unread = bool(reply.text) and reply.status is None and not self.heard
        return self.question

    def _go_on(self, state: State) -> None:
        before = self._episode.state.case
        self._episode = _sound(run_episode(self._world, state, self._policy))
        case = self._episode.state.case
        known = {(each.id, each.status) for each in before.findings}
        self.heard = tuple(each for each in case.findings if (each.id, each.status) not in known)
        new = [each for each in case.issues if each.level == "warning" and each not in before.issues]
        self.contradictions = tuple(f"{each.message}: {each.remedy}" for each in new if each.where.startswith("HP:"))
        self._told()

    def _told(self) -> None:
        said = (each.words.get("text") or each.words.get("case", {}).get("text") for each in self.log)
        self._heard_in: Language = "zh" if has_chinese(next(filter(None, said), "")) else "en"
        self._asked.clear()
        if self._keep is not None:
            self._keep(self.log)

    def _why(self, asked: AskPatient) -> str:
        language = self.language
        if asked.term is None:
            return say("why_else" if self._episode.state.case.observed else "why_open", language)
        if asked.which:
            return say("why_which", language)
        told = say("why", language, gain=asked.gain or 0.0)
        moved = self._graph.ranker.proposer.why(cast(Case, self._episode.state.known("evidence")), asked.term)
        if not moved:
            return told
        for key, share in (("yes_moves", "yes"), ("no_moves", "no")):
            lines = sorted(moved, key=lambda each: -getattr(each, share))[:SHOWN]
            leaders = ", ".join(
                f"{self._disease(each.id, each.name)} {percent(each.share)} → {percent(getattr(each, share))}"
                for each in lines
            )
            told += "\n" + say(key, language, leaders=leaders)
        return told

    def _options(self, asked: AskPatient) -> tuple[Choice, ...]:
        names = [self._name(id, label) for id, label in asked.options]
        return tuple(
            Choice(id=id, label=label, name=f"{name} ({label})" if names.count(name) > 1 else name)
            for (id, label), name in zip(asked.options, names, strict=True)
        )

    def _worded(self, asked: AskPatient) -> str:
        if asked.which or asked.order or asked.term is None:
            return ""
        if (words := wordings().get(asked.term)) is not None:
            return words.zh if self.language == "zh" else words.en
        released = evidences().get(asked.term.removeprefix(PREFIX)) if self.language == "en" else None
        return "" if released is None else released.question

    def _name(self, term: str, label: str) -> str:
        words = evidence_words().get(term.removeprefix(PREFIX)) if term.startswith(PREFIX) else None
        if words is not None:
            return (words.name_zh if self.language == "zh" else words.name) or label
        if self.language == "zh" and (symptom := self._graph.ranker.names.symptom(term)) >= 0:
            label = str(self._graph.snapshot.column("symptom", "name_zh")[symptom]) or label
        return self._graph.terms.everyday(term, self.language) or label or term

    def _named(self, finding: FindingDocument) -> FindingDocument:
        return finding.model_copy(update={"name": self._name(finding.id, finding.label)})

    def _in_words(self, turn: TurnDocument) -> TurnDocument:
        leads = tuple(each.model_copy(update={"name": self._disease(each.id, each.name)}) for each in turn.differential)
        name = self._name(turn.term, turn.label) if turn.term else ""
        return turn.model_copy(update={"name": name, "differential": leads})

    def _disease(self, id: str, name: str) -> str:
        if self.language != "zh":
            return name
        ranker = self._graph.ranker
        return ranker.names.candidate(ranker.number_of(id)).name_zh or name


def _sound(episode: Episode) -> Episode:
    if episode.waiting or not episode.state.case.observed or ranking_of(episode.state) is not None:
        return episode
    failed = [each for each in episode.log if each.kind is Kind.ERROR]
    if failed:
        raise error_of(failed[-1])
    return episode


def _reply_to(graph: GraphContext, asked: AskPatient, words: str, names: Sequence[str]) -> Reply:
    """Return what words answer to a question.

    Whatever they are, they are kept, and read like a note: an instruction in them is a text without findings.
    """
    said = read_reply(words)
    if asked.term is None:
        return Reply(status=Status.UNKNOWN) if said.meaning in STATUSES and not said.rest else Reply(text=words)
    if asked.which:
        return _chosen(graph, asked, words, names, said)
    if said.meaning == "present" and said.rest:
        return _present(asked, _below(graph, asked, f"{asked.label} {said.rest}"), said.rest)
    if said.meaning in STATUSES:
        return Reply.model_validate({"status": said.meaning, "text": said.rest})
    return _read(graph, asked, words, said)


def _read(graph: GraphContext, asked: AskPatient, words: str, said: ReplyMeaning) -> Reply:
    above = graph.ancestry.ancestors(asked.term or "")
    found = graph.extract(words).findings
    below = _below(graph, asked, words)
    if below is not None:
        return _present(asked, below, words)
    if any(each.status is Status.ABSENT and each.id in {asked.term, *above} for each in found):
        return Reply(status=Status.ABSENT, text=words)
    if said.dated and not found:
        return Reply(status=Status.PRESENT, text=words)
    return Reply(text=words)


def _below(graph: GraphContext, asked: AskPatient, words: str) -> Finding | None:
    named = {each.id for each in graph.extract(asked.label).findings}
    found = [each for each in graph.extract(words).findings if each.status is Status.PRESENT]
    narrower = (each for each in found if each.id not in named and asked.term in graph.ancestry.ancestors(each.id))
    return next(narrower, None) or next((each for each in found if each.id == asked.term), None)


def _present(asked: AskPatient, below: Finding | None, words: str) -> Reply:
    if below is None or below.id == asked.term:
        return Reply(status=Status.PRESENT, text=words)
    return Reply(status=Status.PRESENT, term=below.id, label=below.label, text=words)


def _chosen(graph: GraphContext, asked: AskPatient, words: str, names: Sequence[str], said: ReplyMeaning) -> Reply:
    if said.meaning in STATUSES and not said.rest:
        return Reply(status=Status.UNKNOWN)
    named: dict[str, tuple[str, str]] = {}
    for number, (option, name) in enumerate(zip(asked.options, names, strict=True), 1):
        named |= {each.casefold(): option for each in (str(number), *option, name)}
    parts = [each.strip().casefold() for each in _LISTED.split(words) if each.strip()]
    found = dict.fromkeys(named[part] for part in parts if part in named)
    if found and all(part in named for part in parts):
        first, *more = found
        return Reply(status=Status.PRESENT, term=first[0], label=first[1], more=tuple(more))
    below = _below(graph, asked, f"{asked.label} {words}")
    if below is None or below.id == asked.term:
        return Reply(status=Status.UNKNOWN, text=words)
    return _present(asked, below, words)
