"""What an endpoint says of itself and of its models: names, context windows; asked for, never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from kgdx.config import LlmAccess

WAIT_S = 5.0
"""Seconds that an endpoint is waited for to say something of itself."""

OLLAMA_CONTEXT = 4_096
"""Tokens that Ollama reads and writes where nobody sets more."""

_SIZES = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length", "n_ctx")
"""Names under which servers give a context window, such as vLLM, LM Studio, OpenRouter, Groq, Mistral, llama.cpp."""


def models_of(access: LlmAccess) -> list[Mapping[str, Any]] | None:
    """Return what the endpoint lists as its models; ``None`` where it lists none."""
    found = _asked(access, f"{access.base_url}/models")
    listed = found.get("data") if isinstance(found, dict) else None
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else None


def context_of(access: LlmAccess) -> int | None:
    """Return the context window of the model, as its endpoint gives it; ``None`` where it does not."""
    listed = models_of(access)
    if listed is None:
        return None
    own = next((each for each in listed if each.get("id") == access.model), listed[0] if len(listed) == 1 else {})
    if (size := _size(own)) is not None:
        return size
    root = access.base_url.removesuffix("/v1")
    if own.get("owned_by") == "library":  # Ollama
        running = _asked(access, f"{root}/api/ps")
        loaded = running.get("models", ()) if isinstance(running, dict) else ()
        sizes = (_size(each) for each in loaded if isinstance(each, dict) and each.get("model") == access.model)
        return next(filter(None, sizes), OLLAMA_CONTEXT)
    if own.get("owned_by") == "llamacpp":
        said = _asked(access, f"{root}/props")
        settings = said.get("default_generation_settings") if isinstance(said, dict) else None
        return _size(settings) if isinstance(settings, dict) else None
    return None


def _size(found: Mapping[str, Any]) -> int | None:
    sizes = (found.get(name) for name in _SIZES)
    return next((each for each in sizes if isinstance(each, int) and each > 0), None)


def _asked(access: LlmAccess, url: str) -> Any:
    import httpx2

    headers = {**access.headers} | ({"Authorization": f"Bearer {access.api_key}"} if access.api_key else {})
    secure = url.startswith("https:")
    with suppress(httpx2.HTTPError, ValueError, RecursionError, OSError):
        with httpx2.Client(timeout=WAIT_S, follow_redirects=False, trust_env=secure) as client:
            answer = client.get(url, headers=headers)
        return answer.json() if answer.is_success and len(answer.content) < 4_000_000 else None
    return None
