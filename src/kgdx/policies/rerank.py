"""A language model puts the candidates of the ranking in order; it can do nothing else.

The second layer of GPT-RagAD, list-wise: rank, show the best candidates with their evidence, take a permutation. Where
they do not fit into one request, windows slide from the back to the front as RankGPT's do. Scores stay as they are, and
the order of retrieval stands wherever the model gives none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from kgdx.actions.explaining import Explain
from kgdx.actions.reading import Diagnose, Extract, Rank
from kgdx.answer.artifacts import Explained, Read, Reranked, ranking_of
from kgdx.case import Case
from kgdx.episode.conversation import exchanges
from kgdx.episode.policy import Capabilities, Policy
from kgdx.episode.segment import Kind, error_of
from kgdx.episode.state import State
from kgdx.episode.wish import AskModel, Wish
from kgdx.errors import UsageError
from kgdx.llm.chat import Message, prompt
from kgdx.policies.candidate_evidence import Brief, Briefed, line, marked, patient
from kgdx.policies.finishing import FINAL
from kgdx.policies.planner import FRUITLESS
from kgdx.policies.reordering import MARK, PROMPT, Ordered, ReadOrder, Reorder, of_turn, windows
from kgdx.results.ranked import Candidate

LONGEST = 6_000
"""Letters of an instruction at most."""


class Instruction(BaseModel):
    """How a model is to order candidates."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^[\w.-]{1,60}$")]
    """What it is called."""
    text: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    """What the model is told."""
    thought: bool = False
    """Whether it is to write down its thoughts before the order."""
    chosen_on: Annotated[tuple[str, ...], Field(exclude=True, repr=False)] = ()
    """Digests of the patients who chose it among others: it is not to be measured on them."""

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{self.thought}\n{self.text}".encode()).hexdigest()[:12]

    def chosen_by(self, patient: Case) -> bool:
        return patient_digest(patient) in self.chosen_on


def patient_digest(case: Case) -> str:
    """Return what stands for a patient, by id and words, in a file that others may read."""
    case = case.identified()
    return hashlib.sha256(f"{case.id}\n{case.text}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def instruction(given: str | Path) -> Instruction:
    """Return an instruction by the name of one that comes with kgdx, or from a file."""
    if isinstance(given, str) and given in names():
        return _builtin(given)
    path = Path(given)
    if not path.is_file():
        hint = f"one of {', '.join(names())}, or a file that `kgdx learn prompt` wrote"
        raise UsageError(f"no instruction is called {str(given)[:60]!r}", hint=hint)
    try:
        return parsed(path.read_text("utf-8"))
    except (ValueError, OSError) as error:
        hint = "it begins with YAML between two lines of dashes: name, thought"
        raise UsageError(f"{path} is no instruction ({error})", hint=hint) from None


@cache
def names() -> tuple[str, ...]:
    folder = files("kgdx.policies").joinpath("instructions")
    return tuple(sorted(each.name.removesuffix(".md") for each in folder.iterdir() if each.name.endswith(".md")))


@cache
def _builtin(name: str) -> Instruction:
    return parsed(files("kgdx.policies").joinpath("instructions", f"{name}.md").read_text("utf-8"))


def parsed(text: str) -> Instruction:
    """Read an instruction."""
    import yaml

    begin, _, rest = text.partition("---\n")
    head, closed, said = rest.partition("\n---\n")
    if begin.strip() or not closed:
        raise ValueError("it does not begin with YAML between two lines of dashes")
    try:
        told = yaml.safe_load(head)
    except yaml.YAMLError:
        raise ValueError("its YAML cannot be read") from None
    if not isinstance(told, dict):
        raise ValueError("its YAML holds no fields")
    try:
        fields = {name: told[name] for name in ("name", "thought", "chosen_on") if name in told}
        found = Instruction.model_validate({**fields, "text": said.strip()})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if told.get("digest", found.digest) != found.digest:
        raise ValueError(f"its digest is {found.digest}, and it says {told['digest']}: it was changed")
    return found


def written(of: Instruction, figures: dict[str, Any]) -> str:
    """Return an instruction as a file."""
    import yaml

    head = {"name": of.name, "thought": of.thought, "digest": of.digest, **figures, "chosen_on": [*of.chosen_on]}
    return f"---\n{yaml.safe_dump(head, allow_unicode=True, sort_keys=False)}---\n{of.text}\n"


_FORM = 'an object with {thought}"order", a list of ids, and "why", a list of objects with "id" and "because".'
_THOUGHT = '"thought", text, '
_ID_TOKENS, _REASON_TOKENS, _THOUGHT_TOKENS = 5, 40, 200
"""What an answer takes: for each id, for each reason, of which a third of the candidates have one, for thoughts."""


def _read(given: Any) -> Any:
    return instruction(given) if isinstance(given, str) else given


class RerankPolicy(Policy):
    """Rank, let a language model order the best candidates, and declare its order."""

    name: ClassVar[str] = "rerank"
    capabilities: ClassVar[Capabilities] = Capabilities(models=True)

    top: Annotated[int, Field(ge=1, le=1000)] = 10
    """How many candidates to list."""
    explain: Annotated[int, Field(ge=0, le=1000)] = 10
    """How many of them to explain."""
    case_bank: bool | None = None
    """Whether to match with the graph's other patients too; ``None`` where it has some."""
    candidates: Annotated[int, Field(ge=2, le=500)] = 50
    """How many candidates the model orders."""
    prompt: Annotated[Instruction, BeforeValidator(_read)] = instruction("vanilla")
    """How it is to order them: an instruction, the name of one (``vanilla``, ``cot``), or the file of one."""
    weight: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Of its order beside the score; 1 for the order alone."""
    window: Annotated[int, Field(ge=2, le=500)] | None = None
    """How many candidates a request shows; as many as fit into :attr:`room` where ``None``."""
    room: Annotated[int, Field(ge=2_000)] = 8_000
    """Characters of a request that the candidates may take; with the answer it fits into 4,096 tokens."""
    reasoned: bool = False
    """Whether an order has to be whole, and a candidate moves up only with a reason that its evidence carries."""
    evidence: Annotated[int, Field(ge=1, le=40)] = 6
    """How much evidence of each candidate is shown at most."""
    words: bool = True
    """Whether the model is told the patient's own words, too."""
    shuffles: Annotated[int, Field(ge=0, le=20)] = 0
    """How often the model is asked anew with the candidates in a random order; the mean place counts."""
    max_tokens: Annotated[int, Field(ge=16)] | None = None
    """Length of an answer at most."""

    def choose(self, state: State) -> Wish | None:
        """Return the next step: read, rank, gather evidence, ask, read the order, explain, declare."""
        ranking = ranking_of(state)
        if ranking is None:
            if failed := [each for each in state.log if each.kind is Kind.ERROR]:
                raise error_of(failed[-1])  # no model mends that
            if state.get(Read) is None:
                return Extract()
            return Rank(top=max(self.top, self.candidates), case_bank=self.case_bank, explain=True)
        if state.get(Briefed) is None and not state.all(Explained):
            return Brief(top=self.candidates, each=self.evidence)
        if state.get(Reranked) is not None:
            return self._ending(state)
        made = state.all(Ordered)
        part = self._part(state, made) if self._goes_on(state, made) else None
        if part is None:
            return self._reorder()
        turn, begin, shown = part
        if len(exchanges(state.log, f"{PROMPT}@")) > len(made):
            return ReadOrder(turn=turn, begin=begin, shown=tuple(each.id for each in shown), whole=self.reasoned)
        return self._ask(state, shown)

    def close(self, state: State) -> Wish | None:
        """Declare what there is: the order so far, or the ranking's own."""
        if ranking_of(state) is None:
            return None
        return self._reorder() if state.get(Reranked) is None else self._ending(state)

    def _reorder(self) -> Reorder:
        return Reorder(
            candidates=self.candidates,
            weight=self.weight,
            reasoned=self.reasoned,
            prompt=self.prompt.name,
            digest=self.prompt.digest,
            top=self.top,
        )

    def _ending(self, state: State) -> Wish | None:
        found = state.get(Reranked)
        order = () if found is None else found.order
        if self.explain and order and not state.all(Explained) and not state.limited:
            return Explain(diseases=order[: min(self.explain, self.top)])
        return Diagnose(diseases=order[: self.top])

    def _goes_on(self, state: State, made: Sequence[Ordered]) -> bool:
        said = exchanges(state.log, f"{PROMPT}@")
        if len(said) > len(made):
            return True
        recent = made[-FRUITLESS:]
        fruitless = len(recent) == FRUITLESS and all(each.fault for each in recent)
        final = any(each.failed in FINAL for each in said)
        return not fruitless and not final and state.limits.model(state.counts) is None

    def _part(self, state: State, made: Sequence[Ordered]) -> tuple[int, int, list[Candidate]] | None:
        listed = self.listed(state)
        known = {each.id: each for each in listed}
        parts = self.parts(state)
        turn, number = divmod(len(made), len(parts)) if parts else (1 + self.shuffles, 0)
        if turn > self.shuffles:
            return None
        begin, end = parts[number]
        shown = of_turn(list(known), made, turn)[begin:end]
        if turn:
            Random(f"{state.seed}:{turn}:{number}").shuffle(shown)
        return turn, begin, [known[id] for id in shown]

    def listed(self, state: State) -> tuple[Candidate, ...]:
        """Return the candidates that the model is to order, as they were retrieved."""
        ranking = ranking_of(state)
        return () if ranking is None else ranking.candidates[: self.candidates]

    def parts(self, state: State) -> tuple[tuple[int, int], ...]:
        """Return the windows of one turn; one where all fit into a request."""
        listed = self.listed(state)
        if self.window is not None:
            return windows(len(listed), self.window, self.window // 2)
        widest, size, room = sorted(map(len, self._lines(state, listed)), reverse=True), 0, self.room
        while size < len(widest) and (room := room - widest[size] - 1) >= 0:
            size += 1
        return windows(len(listed), max(2, size), max(2, size) // 2)

    def _lines(self, state: State, shown: Sequence[Candidate]) -> Iterator[str]:
        briefed = state.get(Briefed)
        lines = {} if briefed is None else briefed.lines
        for number, each in enumerate(shown, 1):
            yield marked(lines.get(each.id) or line(each, ()), f"{MARK}{number}")

    def messages(self, state: State, shown: Sequence[Candidate]) -> tuple[Message, ...]:
        """Return what the model is told to order these candidates."""
        thought = _THOUGHT if self.prompt.thought else ""
        return prompt(PROMPT).messages(
            how=self.prompt.text,
            patient=patient(state.case, self.words),
            candidates="\n".join(self._lines(state, shown)),
            form=_FORM.format(thought=thought),
            count=str(len(shown)),
            first=f"{MARK}1",
            last=f"{MARK}{len(shown)}",
        )

    def expected_answer(self, count: int) -> int:
        return _ID_TOKENS * count + _REASON_TOKENS * (count // 3) + _THOUGHT_TOKENS * self.prompt.thought

    def _ask(self, state: State, shown: Sequence[Candidate]) -> AskModel:
        marks = [f"{MARK}{number}" for number in range(1, len(shown) + 1)]
        return AskModel(
            prompt=f"{prompt(PROMPT).id}+{self.prompt.name}-{self.prompt.digest}",
            messages=self.messages(state, shown),
            output=_schema(marks, thought=self.prompt.thought),
            max_tokens=self.max_tokens,
        )


def _schema(marks: Sequence[str], *, thought: bool) -> dict[str, Any]:
    why = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "because": {"type": "string"}},
        "required": ["id", "because"],
        "additionalProperties": False,
    }
    fields: dict[str, Any] = {"thought": {"type": "string"}} if thought else {}
    whole = {"minItems": len(marks), "maxItems": len(marks)}
    fields["order"] = {"type": "array", "items": {"type": "string", "enum": list(marks)}, **whole}
    fields["why"] = {"type": "array", "items": why}
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
