"""A language model as the settings describe it: the endpoint, its recording, and the cache in front of both."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from kgdx.config import LlmAccess
from kgdx.llm.accounting import Meter
from kgdx.llm.cache import AnswerCache, Cached
from kgdx.llm.cassette import Cassette, CassetteMode
from kgdx.llm.endpoint import Endpoint
from kgdx.llm.protocol import ChatModel


def connect(access: LlmAccess, *, cache: Path | None = None, meter: Meter | None = None) -> ChatModel:
    """Return a model that is ready to be asked; nothing is sent before.

    Args:
        access: From :meth:`kgdx.config.Settings.llm`.
        cache: File that keeps answers; ``None`` to keep none.
        meter: Counts what is spent.

    Raises:
        MissingExtraError: An endpoint is to be asked, and the package ``openai`` is not installed.
        ConfigError: The recording is missing or wrong.
        StoreError: The cache cannot be used.
    """
    meter = meter or Meter.of(access)
    replayed = access.cassette is not None and access.cassette_mode == "replay"
    model: ChatModel | None = None if replayed else Endpoint(access, meter)
    if access.cassette is not None:
        return Cassette(access.cassette, access.model, cast(CassetteMode, access.cassette_mode), model, meter)
    assert model is not None
    return model if cache is None else Cached(model, AnswerCache(cache), meter, access.base_url)
