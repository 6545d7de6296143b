"""A language model writes the answer from the evidence; what cannot be held against it is shown to the model once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from kgdx.actions.checking import INSUFFICIENT, MAX_CHARS, NOTHING_CITED, check
from kgdx.actions.known import CitedText
from kgdx.actions.pack import PROMPT_CHARS, EvidencePack
from kgdx.actions.state import Author, Segment
from kgdx.llm.prompts import prompt
from kgdx.llm.protocol import ChatModel, Message, Prices, Request
from kgdx.policies.asking import Said, ask

LANGUAGES = {"en": "English", "zh": "Chinese (中文)"}
"""What a model is told of the language to answer in."""

_QUESTION_CHARS = 8_000
_SHOWN_FAULTS = 5
_CHINESE = 0.25
"""Share of Chinese characters among the letters of a Chinese text at least; an English one has as few others."""

_TELLING = 8
"""So many Latin words without any of :data:`_ENGLISH` are another language."""

_words = str.split
_ENGLISH = frozenset(_words("the of is are and with by for which that this not may can has have be in to or"))
_NAMES = 3_000
"""Most names of the evidence that are left out of an answer to tell its language."""


def write(
    model: ChatModel,
    pack: EvidencePack,
    strict: bool = True,
    language: str = "en",
    *,
    prices: Prices = (0.0, 0.0),
    on_text: Callable[[str], None] | None = None,
    again: int = 1,
    max_chars: int = PROMPT_CHARS,
) -> Said:
    """Have an answer written.

    The answer is not trusted: :class:`~kgdx.actions.answering.Respond` checks it. Here it is only held against the
    evidence to ask once more where it has faults; of two answers the one with fewer faults is returned.

    Args:
        model: Who writes.
        pack: What the answer may rest on.
        strict: Whether it may rest on nothing else.
        language: Of the answer, ``en`` or ``zh``.
        prices: For the cost.
        on_text: Given each piece of the first answer as it arrives.
        again: How often an answer with faults is asked for anew.
        max_chars: Characters that the evidence may take in the prompt.

    Returns:
        The answer and what goes into the log; without text where the model gave none.
    """
    template = prompt("answer" if strict else "answer_open")
    messages = template.messages(
        question=_quoted(pack.question[:_QUESTION_CHARS]),
        evidence=pack.prompt(max_chars),
        language=LANGUAGES[language],
        lacks=INSUFFICIENT[language],
    )
    request = Request(messages)
    best = said = ask(model, request, template.id, prices=prices, on_text=on_text)
    wrong = list(_faults(said.text, pack, strict, language))
    for _ in range(again):
        if said.error is not None or not said.text.strip() or not wrong:
            break
        told = "\n".join(f"- {fault}" for fault in wrong)
        turn = Message(
            "user", f"These faults have to be mended:\n{told}\nWrite the whole answer again, by the same rules."
        )
        request = replace(request, messages=(*request.messages, Message("assistant", said.text[:MAX_CHARS]), turn))
        said = ask(model, request, template.id, prices=prices, again=True)
        found = list(_faults(said.text, pack, strict, language))
        fewer = bool(said.text.strip()) and said.error is None and len(found) < len(wrong)
        best = replace(said if fewer else best, segments=(*best.segments, *said.segments))
        wrong = found
    if best.text.strip() and not _in(language, best.text, pack):
        about = {"error": "LlmError", "prompt": template.id}
        note = Segment(Author.TOOL, "error", "language", about, content=f"the answer is not in {LANGUAGES[language]}")
        best = replace(best, segments=(*best.segments, note))
    return best


def groundless(text: str, pack: EvidencePack, language: str) -> bool:
    """Tell whether an answer cites nothing that exists, and does not say either that the evidence is not enough.

    Example:
        >>> groundless("All is well [E1].", EvidencePack(), "en"), groundless("证据不足。", EvidencePack(), "zh")
        (True, False)
    """
    sentences = check(text, pack, strict=True, language=language).sentences
    return not sentences or sentences[0].text == NOTHING_CITED[language]


def _faults(text: str, pack: EvidencePack, strict: bool, language: str) -> Iterator[str]:
    """What is wrong with an answer, in words for the model."""
    checked: CitedText = check(text, pack, strict=strict, language=language)
    if checked.removed:
        yield f"these do not exist in the evidence: {', '.join(dict.fromkeys(checked.removed))}"
    if strict:
        for sentence in [each for each in checked.sentences if not each.supported][:_SHOWN_FAULTS]:
            yield f"no id: {sentence.text[:200]}"
    if text.strip() and not _in(language, text, pack):
        yield f"it is not in {LANGUAGES[language]}"


def _in(language: str, text: str, pack: EvidencePack) -> bool:
    """Whether a text is in a language; the names of the evidence, which stay in theirs, are left out first."""
    own = re.sub(r"\[E\d+\]", " ", _without(text, _names(pack)))
    letters = [each for each in own if each.isalpha()]
    chinese = sum("一" <= each <= "鿿" for each in letters)
    if language == "zh":
        return chinese >= _CHINESE * len(letters)
    words = re.findall(r"[^\W\d_]+", own.casefold())
    latin = [word for word in words if not any("一" <= each <= "鿿" for each in word)]
    english = len(latin) < _TELLING or any(word in _ENGLISH for word in latin)
    return english and chinese <= (1 - _CHINESE) * len(letters)


def _names(pack: EvidencePack) -> Iterator[str]:
    """What the evidence calls things by, and says of them; an answer may quote it."""
    for item in pack.items:
        yield item.text
        for node in (item.subject, *item.objects):
            if node is not None:
                yield node.name
    for each in pack.resolved:
        yield from (each.given, *each.names)


def _without(text: str, names: Iterator[str]) -> str:
    """The text without these names, of which a part may be another one: the longest first."""
    there = sorted({name for name in names if name and name in text}, key=len, reverse=True)[:_NAMES]
    return re.sub("|".join(map(re.escape, there)), " ", text) if there else text


def _quoted(question: str) -> str:
    """The question with nothing in it that could end its part of the prompt."""
    return "\n".join("> " + line for line in question.splitlines()).replace("====", "=-=-")
