"""The switch that takes out of what is sent to a language model what identifies a person, in English and Chinese.

Names, dates, addresses, hospitals, e-mail addresses, telephone numbers and numbers of records give way to placeholders
such as ``[NAME]``. Rules find them, so some get through: it lowers the risk and is no anonymisation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kgdx.lazy import lazy_pattern
from kgdx.llm.budget import Meter
from kgdx.llm.chat import ChatModel, Completion, Layer, OnText, Request
from kgdx.llm.pii import covered, merged
from kgdx.llm.pii.identifiers import numbers, places
from kgdx.llm.pii.persons_en import english_names
from kgdx.llm.pii.persons_zh import chinese_entities, chinese_names

KINDS = ("NAME", "MAN", "WOMAN", "DATE", "OVER 89", "ADDRESS", "HOSPITAL", "PHONE", "EMAIL", "ID")
PLACEHOLDERS = tuple(f"[{kind}]" for kind in KINDS)
"""What stands for what was taken out; a title that tells the sex goes with the name, and the sex stays; so does an age
that few reach, as one over 89."""
_MAN = lazy_pattern(r"[Mm](?:r|ister)\b|Sir\b|.*(?:先生|大爷|爷爷|叔叔|大叔|大伯|大哥)$")
_WOMAN = lazy_pattern(r"[Mm](?:rs|s|iss)\b|Madam\b|.*(?:女士|小姐|太太|阿姨|大妈|奶奶|大娘|大姐)$")

_ESCAPED = lazy_pattern(r"(?<!\\)((?:\\\\)*)\\u([0-9a-fA-F]{4})")
_NARROW = {wide: wide - 0xFEE0 for wide in (*range(ord("０"), ord("：") + 1), *range(ord("Ａ"), ord("ｚ") + 1))}
"""Letters, digits and colons as wide as Chinese characters are read as the usual ones."""
_TELLING = lazy_pattern(r"[^\W\d_]{2,}|\d{3,}")
_PLACEHOLDER = lazy_pattern("|".join(re.escape(each) for each in PLACEHOLDERS))


def deidentify(text: str) -> tuple[str, int]:
    r"""Put placeholders for what identifies a person.

    Args:
        text: Prose, or JSON; what it escapes (``\u5f20``) is read as what it means, and JSON stays JSON.
    """
    text = _ESCAPED.sub(_read_letter, text)
    pieces: list[str] = []
    at = count = 0
    for start, end, kind in identifying(text):
        pieces += [text[at:start], f"[{kind}]"]
        at, count = end, count + 1
    return "".join([*pieces, text[at:]]), count


def identifying(text: str) -> list[tuple[int, int, str]]:
    """Return the passages that identify a person, in order: start, end and kind; placeholders are none."""
    read = text.translate(_NARROW)
    names = [
        (start, end, "MAN" if _MAN.match(read[start:end]) else "WOMAN" if _WOMAN.match(read[start:end]) else "NAME")
        for start, end in (*english_names(read), *chinese_names(read))
    ]
    held = covered(text, _PLACEHOLDER)
    found = merged([*numbers(read), *places(read), *chinese_entities(read), *names])
    return [(start, end, kind) for start, end, kind in found if 1 not in held[start:end]]


def without_persons(text: str, of: str) -> str:
    """Leave out of a text the words by which another one identifies a person: alone they do not show what they are."""
    for word in {word for start, end, _ in identifying(of) for word in _TELLING.findall(of[start:end])}:
        text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", "…", text)
    return text


class Deidentified(Layer):
    """A model that is asked without what identifies a person; its completions hold the placeholders."""

    def __init__(self, model: ChatModel, meter: Meter | None = None) -> None:
        super().__init__(model)
        self.meter = meter or Meter()

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Return one sample; see :meth:`kgdx.llm.chat.ChatModel.complete`.

        A text is continued by its characters: token ids of the request can be decoded, and are left out.
        """
        cleaned = [deidentify(message.content) for message in request.messages]
        self.meter.add(removed=sum(count for _, count in cleaned))
        messages = tuple(
            replace(message, content=text) for message, (text, _) in zip(request.messages, cleaned, strict=True)
        )
        schema = None if request.schema is None else _cleaned(request.schema)
        asked = replace(request, messages=messages, schema=schema, prefix=(), prefix_chars=0)
        return await self.model.complete(asked, on_text)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return deidentify(value)[0]
    if isinstance(value, Mapping):
        return {key: _cleaned(each) for key, each in value.items()}
    return [_cleaned(each) for each in value] if isinstance(value, list | tuple) else value


def _read_letter(match: re.Match[str]) -> str:
    letter = chr(int(match[2], 16))
    return match[1] + letter if letter.isprintable() and letter not in '"\\' else match[0]
