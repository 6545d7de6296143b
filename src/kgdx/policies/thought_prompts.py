"""The prompts of thought before retrieval: what a policy asks, and pairs and training ask in the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgdx.answer.evidence_pack import clean
from kgdx.llm.chat import Message, prompt
from kgdx.policies.answer_writing import LANGUAGES, quoted

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
