"""What a model is shown as a doctor: the patient, the last turns, the record, the graph, the questions that would tell.

Words of patients and models are quoted: nothing in them can end its part of a prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kgdx.actions.believing import Questions
from kgdx.answer.artifacts import Retrieved
from kgdx.answer.evidence_pack import clean
from kgdx.case import Case, Status
from kgdx.episode.segment import Author, Segment
from kgdx.episode.state import State
from kgdx.episode.turns import Turn
from kgdx.policies.doctor_forms import NamedDisease, WrittenRecord

LAST = 3
"""Turns that a model is shown beside the record, as MedKGI does."""

NOTHING = "Nothing yet."
SAID = 2_000
"""Letters of one answer that a model is shown."""

OF_A_DISEASE = 12
"""Findings of one disease that a model is shown."""

TRIPLES = 80
"""Relations of the graph that a model is shown."""

LANGUAGES = {"en": "English", "zh": "Chinese (中文)"}


def since_reply(log: Sequence[Segment]) -> tuple[Segment, ...]:
    """Return what was written since the patient last answered: the turn that is under way."""
    for at in range(len(log) - 1, -1, -1):
        if log[at].author is Author.PATIENT:
            return tuple(log[at + 1 :])
    return tuple(log)


def profile(case: Case) -> str:
    """Return who the patient is."""
    about = [f"sex: {case.sex.lower()}"] if case.sex in ("FEMALE", "MALE") else []
    if case.age:
        about.append(f"age: {_age(case.age)}")
    return "; ".join(about) or "Nothing is known of who the patient is."


def _age(age: str) -> str:
    years, _, rest = age.removeprefix("P").partition("Y")
    return f"{years} years" if years.isdigit() and age.startswith("P") and not rest else age


def told(said: Sequence[Turn], last: int | None = None, *, of_patient: bool = False) -> str:
    """Return turns as a model reads them."""
    shown = [each for each in said if not of_patient or not each.asked.order]
    shown = shown if last is None else shown[-last:]
    return "\n".join(line for each in shown for line in _turn(each)) or NOTHING


def _turn(turn: Turn) -> Iterator[str]:
    asked, reply = turn.asked, turn.reply
    words = asked.spoken or (f"{asked.label or asked.term}?" if asked.term else "What are the signs and symptoms?")
    yield f"{f'Doctor orders {asked.order}' if asked.order else 'Doctor asks'}: {clean(words, SAID)}"
    if reply is not None:
        status = "" if reply.status is None else str(reply.status)
        named = f" ({reply.label or reply.term})" if reply.term else ""
        answer = f"{status}{named}. {reply.text}" if status and reply.text else (reply.text or f"{status}{named}")
        yield f"{'Result' if asked.order else 'Patient'}: {clean(answer, SAID) or '(nothing)'}"


def findings(case: Case) -> str:
    """Return the record by rules: what is present, what is absent."""
    parts = []
    for status in (Status.PRESENT, Status.ABSENT):
        names = [clean(each.label or each.id, 200) for each in case.findings if each.status is status]
        if names:
            parts.append(f"{status}: {'; '.join(names)}")
    return "\n".join(parts) or NOTHING


def written(record: WrittenRecord) -> str:
    """Return a record that a model wrote."""
    examined = [f"{each.name}: {each.result}" if each.result else each.name for each in record.examinations]
    parts = {
        "complaint": (record.complaint,),
        "present": record.present,
        "absent": record.absent,
        "history": record.history,
        "examinations": tuple(filter(None, examined)),
    }
    lines = (f"{name}: {clean('; '.join(items), SAID)}" for name, items in parts.items() if any(items))
    return "\n".join(lines) or NOTHING


def differential(named: Sequence[NamedDisease]) -> str:
    return "\n".join(f"{at}. {clean(each.name, 200)}" for at, each in enumerate(named, 1)) or NOTHING


def triples(state: State) -> str:
    """Return the relations of the diseases that were looked up last, a line each."""
    found = next((each for each in reversed(state.all(Retrieved)) if each.action == "get_phenotype"), None)
    if found is None:
        return NOTHING
    names = {id: name for each in found.resolved for id, name in zip(each.ids, each.names, strict=False)}
    shown: dict[str, dict[str, None]] = {}
    for row in found.rows:
        of = shown.setdefault(clean(str(names.get(row["disease"], row["disease"])), 200), {})
        if len(of) < OF_A_DISEASE:
            of[clean(str(row["name"]), 200)] = None
    lines = [f"({disease}) has phenotype ({name})" for disease, of in shown.items() for name in of]
    return "\n".join(lines[:TRIPLES]) or NOTHING


def offered(questions: Questions | None, count: int, asked: Iterable[str]) -> list[tuple[str, str, float]]:
    """Return id, name and gain of the best questions that were not asked yet."""
    before = set(asked)
    listed = () if questions is None else questions.questions
    free = [(each.id, each.label, each.gain) for each in listed if each.id not in before]
    return free[:count]
