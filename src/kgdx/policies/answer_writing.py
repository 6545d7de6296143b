"""A language model writes the answer from the evidence; what cannot be held against it is shown to the model once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kgdx.answer.evidence_pack import PROMPT_CHARS, EvidencePack
from kgdx.answer.sentences import INSUFFICIENT, MAX_CHARS, NOTHING_CITED, check
from kgdx.episode.conversation import Exchange
from kgdx.episode.wish import AskModel, wish_of
from kgdx.llm.chat import Message, prompt
from kgdx.results.cited import CitedText

LANGUAGES = {"en": "English", "zh": "Chinese (中文)"}
"""What a model is told of the language to answer in."""

QUESTION_CHARS = 8_000
"""Characters of a question that a model is shown at most."""

_SHOWN_FAULTS = 5
_CHINESE = 0.25
"""Share of Chinese characters among the letters of a Chinese text at least; an English one has as few others."""

_TELLING = 8
"""So many Latin words without any of :data:`_ENGLISH` are another language."""

_words = str.split
_ENGLISH = frozenset(_words("the of is are and with by for which that this not may can has have be in to or"))
_NAMES = 3_000
"""Most names of the evidence that are left out of an answer to tell its language."""


def answer_request(pack: EvidencePack, strict: bool, language: str, temperature: float = 0.0) -> AskModel:
    """Return the request for an answer."""
    template = prompt("answer" if strict else "answer_open")
    messages = template.messages(
        question=quoted(pack.question[:QUESTION_CHARS]),
        evidence=pack.prompt(PROMPT_CHARS),
        language=LANGUAGES[language],
        lacks=INSUFFICIENT[language],
    )
    return AskModel(prompt=template.id, messages=messages, temperature=temperature, streamed=True)


def mend_request(said: Exchange, pack: EvidencePack, strict: bool, language: str) -> AskModel | None:
    """Return the request to write an answer anew without its faults; ``None`` where it has none, or there is none."""
    if said.failed or not said.text.strip():
        return None
    wrong = list(_faults(said.text, pack, strict, language))
    if not wrong:
        return None
    told = "\n".join(f"- {fault}" for fault in wrong)
    turn = Message("user", f"These faults have to be mended:\n{told}\nWrite the whole answer again, by the same rules.")
    first = wish_of(said.wish.name, {**said.wish.data, **said.wish.words})
    assert isinstance(first, AskModel)
    messages = (*first.messages, Message("assistant", said.text[:MAX_CHARS]), turn)
    return first.model_copy(update={"messages": messages, "streamed": False})


def best_of(said: Sequence[Exchange], pack: EvidencePack, strict: bool, language: str) -> str:
    """Return the answer with the fewest faults; of those that have equally many, the first.

    An answer is not trusted: :class:`~kgdx.actions.answering.Respond` checks the one that is taken.
    """
    best, least = said[0].text, len(list(_faults(said[0].text, pack, strict, language)))
    for each in said[1:]:
        found = len(list(_faults(each.text, pack, strict, language)))
        if each.text.strip() and not each.failed and found < least:
            best, least = each.text, found
    return best


def groundless(text: str, pack: EvidencePack, language: str) -> bool:
    """Tell whether an answer cites nothing that exists, and does not say either that the evidence is not enough."""
    sentences = check(text, pack, strict=True, language=language).sentences
    return not sentences or sentences[0].text == NOTHING_CITED[language]


def _faults(text: str, pack: EvidencePack, strict: bool, language: str) -> Iterator[str]:
    checked: CitedText = check(text, pack, strict=strict, language=language)
    if checked.removed:
        yield f"these do not exist in the evidence: {', '.join(dict.fromkeys(checked.removed))}"
    if strict:
        for sentence in [each for each in checked.sentences if not each.supported][:_SHOWN_FAULTS]:
            yield f"no id: {sentence.text[:200]}"
    for sentence in [each for each in checked.sentences if not each.agrees][:_SHOWN_FAULTS]:
        yield f"not what its evidence says: {sentence.text[:200]}"
    if text.strip() and not said_in(language, text, pack):
        yield f"it is not in {LANGUAGES[language]}"


def said_in(language: str, text: str, pack: EvidencePack) -> bool:
    """Tell whether a text is in a language; the names of the evidence, which stay in theirs, are left out first."""
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
    for item in pack.items:
        yield item.text
        for node in (item.subject, *item.objects):
            if node is not None:
                yield node.name
    for each in pack.resolved:
        yield from (each.given, *each.names)


def _without(text: str, names: Iterator[str]) -> str:
    there = sorted({name for name in names if name and name in text}, key=len, reverse=True)[:_NAMES]
    return re.sub("|".join(map(re.escape, there)), " ", text) if there else text


def quoted(question: str) -> str:
    return "\n".join("> " + line for line in question.splitlines()).replace("====", "=-=-")
