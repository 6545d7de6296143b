"""Put together a language model as the settings describe it.

An endpoint or a model in this process; in front of it a recording or a cache; in front of all, where it is switched on,
what takes out passages that identify a person.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

from kgdx.config import LlmAccess
from kgdx.llm.accounting import Meter
from kgdx.llm.cache import AnswerCache, Cached
from kgdx.llm.cassette import Cassette, CassetteMode
from kgdx.llm.deidentify import Deidentified
from kgdx.llm.endpoint import Endpoint
from kgdx.llm.local import LocalModel
from kgdx.llm.protocol import ChatModel
from kgdx.llm.reasoning import Reasoning


def connect(access: LlmAccess, *, cache: Path | None = None, meter: Meter | None = None) -> ChatModel:
    """Return a model that is ready to be asked; nothing is sent before.

    Args:
        access: From :meth:`kgdx.config.Settings.llm`.
        cache: File that keeps answers; ``None`` to keep none.
        meter: Counts what is spent, and ends it at its budget.

    Raises:
        MissingExtraError: An endpoint is to be asked, and the package ``openai`` is not installed; or a local model,
            and torch or transformers is not.
        ConfigError: The recording is missing or wrong.
        StoreError: The cache cannot be used.
    """
    meter = meter or Meter.of(access)
    model = _model(access, cache, meter)
    return Deidentified(model, meter) if access.deidentify else model


def described(access: LlmAccess) -> str:
    """Describe in one line which model is asked, and what is taken out of what is sent.

    Example:
        >>> described(LlmAccess("qwen3:8b", "http://127.0.0.1:11434/v1", deidentify=True))
        'qwen3:8b at http://127.0.0.1:11434/v1; identifying names, dates and numbers are taken out before'
    """
    if access.cassette is not None and access.cassette_mode == "replay":
        place = f"from the recording {access.cassette}"
    else:
        place = "in this process" if access.is_local else f"at {access.base_url}"
    taken = "; identifying names, dates and numbers are taken out before" if access.deidentify else ""
    return f"{access.model} {place}{taken}"


def _model(access: LlmAccess, cache: Path | None, meter: Meter) -> ChatModel:
    replayed = access.cassette is not None and access.cassette_mode == "replay"
    model: ChatModel | None = None
    if not replayed:
        model = Reasoning(LocalModel(access, meter) if access.is_local else Endpoint(access, meter))
    if access.cassette is not None:
        return Cassette(access.cassette, access.model, cast(CassetteMode, access.cassette_mode), model, meter)
    assert model is not None
    place = f"{access.base_url}#{access.seed}" if access.is_local else access.base_url
    return model if cache is None else Cached(model, AnswerCache(cache), meter, place)
