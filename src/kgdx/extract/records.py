"""Question–answer records in the forms in which Huatuo and data like it are published: a JSON object on each line."""

from __future__ import annotations

import json
import re
from typing import Any

LONGEST_LINE = 2_000_000
"""Bytes of a line; no question and answer are longer."""

LONGEST_TEXT = 200_000
"""Characters of a question or an answer."""

_PAIRS = (("questions", "answers"), ("question", "answer"), ("input", "output"), ("instruction", "output"))
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ud800-\udfff]")


def read_line(line: bytes) -> tuple[str, str, str | None]:
    """Read one record.

    ``{"questions": [["…", "…"]] or ["…"] or "…", "answers": ["…"]}``, ``{"question", "answer"}``,
    ``{"input", "output"}``, each with or without ``id``. Of several wordings of a question the first is taken, since
    they ask the same; several answers are put together.

    Returns:
        Question, answer, and the record's own id, if it has one.

    Raises:
        ValueError: It is no such record; the message says why.

    Example:
        >>> read_line('{"questions": [["感冒了怎么办？", "感冒怎么治？"]], "answers": ["多休息。"]}'.encode())
        ('感冒了怎么办？', '多休息。', None)
    """
    if len(line) > LONGEST_LINE:
        raise ValueError(f"the line is longer than {LONGEST_LINE:,} bytes")
    if b"\0" in line:
        raise ValueError("the line holds NUL bytes")
    try:
        record = json.loads(line.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError:
        raise ValueError("the line is not UTF-8") from None
    except (ValueError, RecursionError):
        raise ValueError("the line is no JSON") from None
    if not isinstance(record, dict):
        raise ValueError("the line is no JSON object")
    for asked, answered in _PAIRS:
        if asked in record and answered in record:
            question, answer = _texts(record[asked], asked), _texts(record[answered], answered)
            if not question or not answer:
                raise ValueError(f"{asked if not question else answered} is empty")
            return question[0], "\n".join(dict.fromkeys(answer)), _id(record)
    raise ValueError("it has no question and answer")


def clean(text: str) -> str:
    r"""Return a text without markup and control characters.

    Example:
        >>> clean("<p>发热\x00、咳嗽</p>")
        '发热、咳嗽'
    """
    return _CONTROL.sub("", _TAG.sub("", text))


def _texts(value: Any, field: str, depth: int = 0) -> list[str]:
    """The texts of a value: one, or a list of them, or a list of lists."""
    if isinstance(value, str):
        text = clean(value).strip()
        if len(text) > LONGEST_TEXT:
            raise ValueError(f"{field} is longer than {LONGEST_TEXT:,} characters")
        return [text] if text else []
    if isinstance(value, list) and depth < 2:
        return [text for each in value for text in _texts(each, field, depth + 1)]
    raise ValueError(f"{field} is no text")


def _id(record: dict[str, Any]) -> str | None:
    found = record.get("id", record.get("_id"))
    if isinstance(found, bool) or not isinstance(found, str | int):
        return None
    return clean(str(found)).strip()[:100] or None
