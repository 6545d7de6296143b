"""How a language model is reached: an endpoint with its limits, a known provider, or a model in this process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from kgdx.config.values import endpoint, number, switch
from kgdx.errors import ConfigError

TRANSFORMERS, GGUF = "transformers", "gguf"
IN_PROCESS = (TRANSFORMERS, GGUF)
"""In the place of an endpoint's address: the model is a folder or a name that the package transformers loads, or a
file that llama-cpp-python loads."""

PROVIDERS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "ollama": ("http://127.0.0.1:11434/v1", "OLLAMA_HOST", ""),
        "llamacpp": ("http://127.0.0.1:8080/v1", "", ""),
        "vllm": ("http://127.0.0.1:8000/v1", "", ""),
        "lmstudio": ("http://127.0.0.1:1234/v1", "", ""),
        "openai": ("https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
        "openrouter": ("https://openrouter.ai/api/v1", "", "OPENROUTER_API_KEY"),
        "mistral": ("https://api.mistral.ai/v1", "", "MISTRAL_API_KEY"),
        "deepseek": ("https://api.deepseek.com/v1", "", "DEEPSEEK_API_KEY"),
    }
)
"""What stands before the slash of ``provider/model`` → its address, and the variables of its address and key."""

PROVIDER_VARIABLES = frozenset(name for _, *names in PROVIDERS.values() for name in names if name)


@dataclass(frozen=True, slots=True)
class LlmAccess:
    """What it takes to ask one language model; the key never shows in the representation.

    docs/reference/settings.md says what each of them is.
    """

    model: str
    base_url: str
    api_key: str | None = field(default=None, repr=False)
    price_in: float = 0.0
    price_out: float = 0.0
    timeout: float = 120.0
    concurrency: int = 4
    attempts: int = 5
    cassette: Path | None = None
    cassette_mode: str = "replay"
    deidentify: bool = False
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    max_seconds: float | None = None
    seed: int = 0
    device: str = "auto"
    context: int | None = None
    max_output: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @property
    def is_local(self) -> bool:
        return self.base_url in IN_PROCESS


NUMBERS = {
    each.name: int if each.type.startswith("int") else float
    for each in fields(LlmAccess)
    if isinstance(each.type, str) and each.type.partition(" ")[0] in ("int", "float")
}
"""Settings that are numbers."""

LLM_KEYS = frozenset({*(each.name for each in fields(LlmAccess)), "documents"})
"""All that can be set; whether a build lets it read ``documents`` is no matter of asking it."""


def elsewhere(base_url: str) -> bool:
    """Return whether what is sent to an endpoint leaves this machine.

    Example:
        >>> elsewhere("http://127.0.0.1:11434/v1"), elsewhere("https://api.openai.com/v1")
        (False, True)
    """
    if not base_url or base_url in IN_PROCESS:
        return False
    host = urlsplit(base_url).hostname or ""
    return host not in ("localhost", "::1", "0.0.0.0") and not host.startswith("127.")


def llm_access(given: Mapping[str, str], providers: Mapping[str, str]) -> LlmAccess:
    """Return how to ask the language model that settings name.

    Args:
        given: The settings as they are written, by their names behind ``KGDX_LLM_``.

    Example:
        >>> llm_access({"model": "openai/gpt-5-mini"}, {"OPENAI_API_KEY": "k"}).base_url
        'https://api.openai.com/v1'
    """
    name, place, key = _reached(given.get("model", ""), given.get("base_url", ""), given.get("api_key", ""), providers)
    mode = given.get("cassette_mode", "replay")
    if mode not in ("replay", "record", "auto"):
        raise ConfigError(f"KGDX_LLM_CASSETTE_MODE is {mode!r}", hint="one of replay, record, auto")
    cassette = Path(given["cassette"]).expanduser() if given.get("cassette") else None
    if not place and (cassette is None or mode != "replay"):
        hint = (
            "set KGDX_LLM_BASE_URL, such as http://127.0.0.1:11434/v1, or write PROVIDER/MODEL, "
            f"with one of {', '.join(PROVIDERS)}"
        )
        raise ConfigError(f"no endpoint is set for the model {name}", hint=hint)
    numbers: dict[str, Any] = {key: kind(number(key, given[key])) for key, kind in NUMBERS.items() if key in given}
    if "max_cost" in numbers and not (numbers.get("price_in") or numbers.get("price_out")):
        hint = "set KGDX_LLM_PRICE_IN and KGDX_LLM_PRICE_OUT"
        raise ConfigError("KGDX_LLM_MAX_COST is set, and prices are not", hint=hint)
    numbers |= {each: max(1, numbers[each]) for each in ("concurrency", "attempts", "max_output") if each in numbers}
    if not numbers.get("timeout", 0.0):
        numbers.pop("timeout", None)  # 0 is no time to wait
    return LlmAccess(
        name,
        place,
        key or None,
        cassette=cassette,
        cassette_mode=mode,
        deidentify=switch("KGDX_LLM_DEIDENTIFY", given.get("deidentify", str(elsewhere(place)).lower())),
        device=given.get("device", "auto"),
        headers={name: str(value) for name, value in _fields("headers", given).items()},
        extra_body=_fields("extra_body", given),
        **numbers,
    )


def _reached(model: str, place: str, key: str, providers: Mapping[str, str]) -> tuple[str, str, str]:
    kind, colon, rest = model.partition(":")
    if colon and kind in IN_PROCESS:
        return rest, kind, ""
    if model.endswith(".gguf") and not place:
        return model, GGUF, ""
    if not model:
        raise ConfigError("no language model is named", hint="set KGDX_LLM_MODEL and KGDX_LLM_BASE_URL")
    if place in IN_PROCESS:
        return model, place, ""
    provider, slash, rest = model.partition("/")
    if not place and slash and rest and provider in PROVIDERS:
        usual, address, secret = PROVIDERS[provider]
        place, model = providers.get(address) or usual, rest
        if provider == "ollama" and not place.endswith("/v1"):  # OLLAMA_HOST is a host, perhaps with a port
            place = place if "://" in place else f"http://{place}"
            place = f"{place if ':' in place.partition('://')[2] else place + ':11434'}/v1"
        key = key or providers.get(secret, "")
    openai = providers.get("OPENAI_BASE_URL", "")
    if openai and (not place or place.rstrip("/") == openai.rstrip("/")):
        place, key = openai, key or providers.get("OPENAI_API_KEY", "")
    if place.rstrip("/") == PROVIDERS["openai"][0]:
        key = key or providers.get("OPENAI_API_KEY", "")
    return model, endpoint(place) if place else "", key


def _fields(name: str, given: Mapping[str, str]) -> dict[str, Any]:
    try:
        found = json.loads(given.get(name, "{}"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        hint = 'write a JSON object, such as {"X-Title": "kgdx"}'
        raise ConfigError(f"KGDX_LLM_{name.upper()} is no JSON object", hint=hint)
    return found
