"""A consultation with a person: one question after the other, in English or Chinese, answered in words or by status.

It is an episode that waits: all that it knows is in the log, so it is copied, cut, saved and gone on with as a log is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgdx.actions.believing import Questions
from kgdx.answer.consultation_record import kind_of, number_of, record_of
from kgdx.case import Finding, Status
from kgdx.case.ddxplus_release import PREFIX, evidence_words
from kgdx.episode.loop import Episode, answered
from kgdx.episode.loop import run as run_episode
from kgdx.episode.policy import POLICIES, make_policy
from kgdx.episode.resume import resume
from kgdx.episode.segment import Author, Kind, Segment, load
from kgdx.episode.state import Limits, State
from kgdx.episode.turns import Leader, leaders_of, turns
from kgdx.episode.wish import MAX_WORDS, AskPatient, Reply
from kgdx.errors import CaseError, UsageError
from kgdx.rank.proposing import Question
from kgdx.results.consulted import Choice, Language, Lead, QuestionDocument, Record, percent, say
from kgdx.terms.normalise import has_chinese
from kgdx.terms.replies import STATUSES, Said, read_reply

if TYPE_CHECKING:
    from kgdx.actions.graph_context import GraphContext
    from kgdx.answer.diagnosis import Diagnosis
    from kgdx.episode.policy import Policy
    from kgdx.episode.world import World

Keep = Callable[[tuple[Segment, ...]], None]
"""Given the whole log whenever it has changed, to put it where nothing is lost."""

Transcript = Mapping[str, Any] | Iterable[Segment] | str | Path
"""What can be gone on with: :meth:`Consultation.to_dict`, a log, or the file of one."""

PATIENCE = Limits(steps=100_000, stagnation=1_000, errors=1_000)
"""A person decides when it is enough, and a step that fails ends nothing."""

FOR_PEOPLE = {"narrow": 8, "unchanged": 5}
"""Settings with which people are asked: after a yes, which kind; openly where five questions changed nothing."""

SHOWN = 3
"""Leading diseases that an explanation names."""


class Consultation:
    """A consultation that waits for answers; made by :meth:`Graph.consult <kgdx.api.Graph.consult>`.

    Args:
        graph: Where it looks things up.
        world: What its episode acts on.
        policy: Who chooses the questions.
        episode: Where it goes on.
        diagnosed: Returns what an episode has found.
        keep: Given the log after each change.
    """

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
        self.contradictions: tuple[str, ...] = ()
        """What the last answer contradicts, in words."""
        self._episode = episode
        self._told()

    # -- what it is about

    @property
    def log(self) -> tuple[Segment, ...]:
        """The log so far; :meth:`Graph.consult` goes on from it in any process."""
        return self._episode.log

    @property
    def waiting(self) -> bool:
        """Whether a question waits for its answer."""
        return self._episode.waiting

    @property
    def language(self) -> Language:
        """Language of the questions: the one that was asked for, or that of the patient's words."""
        wanted = getattr(self._policy, "speaks", None)
        if wanted is not None:
            return "zh" if wanted == "zh" else "en"
        said = (each.words.get("text") or each.words.get("case", {}).get("text") for each in self.log)
        return "zh" if has_chinese(next(filter(None, said), "")) else "en"

    @property
    def differential(self) -> list[Lead]:
        """The leading diseases with their shares, best first; empty while nothing is known."""
        found = next((found for each in reversed(self.log) if (found := leaders_of(each))), ())
        return [self._lead(each) for each in found]

    @property
    def question(self) -> QuestionDocument | None:
        """The question that waits for its answer; ``None`` where there is none any more."""
        asked = self._episode.state.pending
        if not isinstance(asked, AskPatient):
            return None
        before, kind = turns(self.log), kind_of(asked)
        name = self._name(asked.term, asked.label) if asked.term else ""
        key = "else" if kind == "open" and self._episode.state.case.observed else kind
        return QuestionDocument(
            number=number_of(before),
            kind=kind,
            term=asked.term,
            label=asked.label,
            name=name,
            text=say(key, self.language, name=name),
            why=self._why(asked),
            gain=asked.gain,
            options=self._options(asked),
        )

    @property
    def record(self) -> Record:
        """The record: complaint, findings, examinations, questions with their answers, differential by turn."""
        return record_of(self.log)

    @property
    def diagnosis(self) -> Diagnosis:
        """The diseases as they are ranked with what is known now; the consultation itself goes on unchanged.

        Raises:
            CaseError: Nothing is known that the graph could compare.
        """
        episode = self._episode
        if episode.waiting:
            episode = run_episode(self._world, _finished(episode.state), self._policy)
        if not episode.state.case.observed:
            raise CaseError(say("nothing", self.language), hint="name a finding, or begin with another description")
        return self._diagnosed(episode)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values, the patient's words among them.

        :meth:`Graph.consult` goes on from it.
        """
        question = self.question
        return {
            "question": None if question is None else question.model_dump(mode="json"),
            "differential": [each.model_dump(mode="json") for each in self.differential],
            "record": self.record.to_dict(),
            "transcript": [each.to_dict(private=True) for each in self.log],
        }

    # -- what is done

    def answer(self, said: str | bool | Reply | None, *, number: int | None = None) -> QuestionDocument | None:
        """Answer the question that waits, and return the next one.

        Args:
            said: Words in English or Chinese ("yes, in both hands", ``?``, ``三天前开始``), also "skip", "back" and
                "finish"; ``True``, ``False``, ``None`` for not known; or a reply.
            number: Number of the question that is meant, where it may be another one by now.

        Raises:
            UsageError: No question waits, or another one than is meant; or the words are too long.
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
        meant = read_reply(said)
        if meant.meaning == "why":
            return self.question
        if meant.meaning == "back":
            return self.back()
        if meant.meaning == "finish":
            return self.finish()
        if meant.meaning == "skip":
            return self.skip()
        return self._take(self._reply(asked, said, meant))

    def skip(self) -> QuestionDocument | None:
        """Pass over the question; it is not asked again.

        Raises:
            UsageError: No question waits.
        """
        self._pending(None)
        return self._take(Reply(skipped=True))

    def back(self) -> QuestionDocument | None:
        """Take the last answer back, as if it had never been given, and ask its question again.

        Raises:
            UsageError: It is the first question.
        """
        before = turns(self.log)
        given = [each for each in before if each.reply is not None]
        if not given:
            raise UsageError(say("first", self.language), hint="answer it, or finish")
        self._go_on(resume(self._world, self.log[: given[-1].at + 1]))
        self.heard, self.contradictions = (), ()
        return self.question

    def finish(self) -> QuestionDocument | None:
        """Ask no more, and rank the diseases; there is no next question.

        Raises:
            UsageError: It has ended already.
        """
        self._pending(None)
        self._go_on(_finished(self._episode.state))
        return self.question

    # -- how

    def _pending(self, number: int | None) -> AskPatient:
        asked = self._episode.state.pending
        if not isinstance(asked, AskPatient):
            raise UsageError("no question waits for an answer: the consultation has ended", hint="begin another one")
        now = number_of(turns(self.log))
        if number is not None and number != now:
            hint = "answer the question that is shown, or go back to the other"
            raise UsageError(f"question {number} does not wait for an answer, but question {now} does", hint=hint)
        return asked

    def _take(self, reply: Reply) -> QuestionDocument | None:
        self._go_on(answered(self._episode.state, reply))
        return self.question

    def _go_on(self, state: State) -> None:
        before = self._episode.state.case
        self._episode = run_episode(self._world, state, self._policy)
        case = self._episode.state.case
        known = {(each.id, each.status) for each in before.findings}
        self.heard = tuple(each for each in case.findings if (each.id, each.status) not in known)
        new = [each for each in case.issues if each.level == "warning" and each not in before.issues]
        self.contradictions = tuple(f"{each.message}: {each.remedy}" for each in new if each.where.startswith("HP:"))
        self._told()

    def _told(self) -> None:
        if self._keep is not None:
            self._keep(self.log)

    def _reply(self, asked: AskPatient, words: str, said: Said) -> Reply:
        """Return what words answer to a question."""
        if asked.term is None:
            return Reply(status=Status.UNKNOWN) if said.meaning in STATUSES and not said.rest else Reply(text=words)
        if asked.which:
            return _chosen(asked, words, [each.name for each in self._options(asked)], said)
        if said.meaning == "present" and said.rest:
            below = self._below(asked, f"{asked.label} {said.rest}")
            return _present(asked, below, said.rest)
        if said.meaning:
            return Reply.model_validate({"status": said.meaning, "text": said.rest})
        return self._read(asked, words, said)

    def _read(self, asked: AskPatient, words: str, said: Said) -> Reply:
        """Return what words that are neither yes nor no say about the finding: read it in them, or only keep them."""
        above = self._graph.ancestry.ancestors(asked.term or "")
        found = self._graph.extract(words).findings
        below = self._below(asked, words)
        if below is not None:
            return _present(asked, below, words)
        if any(each.status is Status.ABSENT and each.id in {asked.term, *above} for each in found):
            return Reply(status=Status.ABSENT, text=words)
        if said.dated and not found:
            return Reply(status=Status.PRESENT, text=words)
        return Reply(text=words)

    def _below(self, asked: AskPatient, words: str) -> Finding | None:
        """Return the finding, or the first narrower one, that words say to be present."""
        ancestors = self._graph.ancestry.ancestors
        found = [each for each in self._graph.extract(words).findings if each.status is Status.PRESENT]
        narrower = (each for each in found if asked.term in ancestors(each.id))
        return next(narrower, None) or next((each for each in found if each.id == asked.term), None)

    def _why(self, asked: AskPatient) -> str:
        language = self.language
        if asked.term is None:
            return say("why_else" if self._episode.state.case.observed else "why_open", language)
        if asked.which:
            return say("why_which", language)
        told = say("why", language, gain=asked.gain or 0.0)
        moved = self._proposed(asked)
        if moved is None or not moved.why:
            return told
        for key, share in (("yes_moves", "yes"), ("no_moves", "no")):
            lines = sorted(moved.why, key=lambda each: -getattr(each, share))[:SHOWN]
            leaders = ", ".join(
                f"{self._disease(each.id, each.name)} {percent(each.share)} → {percent(getattr(each, share))}"
                for each in lines
            )
            told += "\n" + say(key, language, leaders=leaders)
        return told

    def _options(self, asked: AskPatient) -> list[Choice]:
        """Return what can be chosen; names that two of them share are told apart by the ontology's."""
        names = [self._name(id, label) for id, label in asked.options]
        return [
            Choice(id=id, label=label, name=f"{name} ({label})" if names.count(name) > 1 else name)
            for (id, label), name in zip(asked.options, names, strict=True)
        ]

    def _proposed(self, asked: AskPatient) -> Question | None:
        proposed = self._episode.state.get(Questions)
        found = proposed.questions if proposed is not None else ()
        return next((each for each in found if each.id == asked.term), None)

    def _name(self, term: str, label: str) -> str:
        words = evidence_words().get(term.removeprefix(PREFIX)) if term.startswith(PREFIX) else None
        if words is not None:
            return (words.name_zh if self.language == "zh" else words.name) or label
        return self._graph.terms.everyday(term, self.language) or label or term

    def _lead(self, leader: Leader) -> Lead:
        return Lead(id=leader.id, name=self._disease(leader.id, leader.name), share=leader.share)

    def _disease(self, id: str, name: str) -> str:
        if self.language != "zh":
            return name
        ranker = self._graph.ranker
        return ranker.names.candidate(ranker.number_of(id)).name_zh or name


def asking_policy(name: str | None, settings: Mapping[str, Any]) -> Policy:
    """Return the policy of a name, by default the first that asks patients, set for people.

    Raises:
        UsageError: No such policy, or a setting that it does not have or take.

    Example:
        >>> asking_policy(None, {"questions": 5}).narrow
        8
    """
    chosen = name or next(each for each in POLICIES.builtin if POLICIES.get(each).capabilities.asks)
    return make_policy(chosen, settings, **{key: each for key, each in FOR_PEOPLE.items() if key not in settings})


def asking(policy: Policy) -> Policy:
    """Return a policy that asks patients.

    Raises:
        UsageError: It asks none.
    """
    if not policy.capabilities.asks:
        able = ", ".join(name for name, kind in POLICIES.items() if kind.capabilities.asks)
        raise UsageError(f"the policy {policy.name} asks no patient", hint=f"take one of {able}")
    return policy


def _finished(state: State) -> State:
    return state.add(Segment(Author.USER, Kind.LIMIT, "finished"))


def _present(asked: AskPatient, below: Finding | None, words: str) -> Reply:
    """Return a yes, which names a narrower finding where one was said."""
    if below is None or below.id == asked.term:
        return Reply(status=Status.PRESENT, text=words)
    return Reply(status=Status.PRESENT, term=below.id, label=below.label, text=words)


def _chosen(asked: AskPatient, words: str, names: list[str], said: Said) -> Reply:
    """Return which of the options words name, by number or by name.

    Raises:
        UsageError: They name none.
    """
    if said.meaning in STATUSES and not said.rest:
        return Reply(status=Status.UNKNOWN)
    parts = [each.strip().casefold() for each in words.replace("，", ",").replace("、", ",").split(",") if each.strip()]
    found: list[tuple[str, str]] = []
    for part in parts:
        for number, (option, name) in enumerate(zip(asked.options, names, strict=True), 1):
            if part in (str(number), option[0].casefold(), option[1].casefold(), name.casefold()):
                found.append(option)
                break
        else:
            return Reply(status=Status.UNKNOWN, text=words)
    first, *more = found
    return Reply(status=Status.PRESENT, term=first[0], label=first[1], more=tuple(more))


def log_of(transcript: Transcript) -> tuple[Segment, ...]:
    """Return the log of what can be gone on with.

    Raises:
        UsageError: It is no transcript.
        CaseError: The file cannot be read.

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
