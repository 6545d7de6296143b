"""What it takes to reach a Neo4j database or a language model."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

TRANSFORMERS = "transformers"
"""In the place of an endpoint's address: the model is a folder or a name that the package transformers loads."""


@dataclass(frozen=True, slots=True)
class Neo4jAccess:
    """What it takes to open one Neo4j database; the password never shows in the representation.

    Attributes:
        uri: Bolt address without credentials.
        user: User name.
        password: Password; ``None`` for a server whose authentication is switched off.
        database: Database name; ``None`` for the user's home database.
    """

    uri: str
    user: str = "neo4j"
    password: str | None = field(default=None, repr=False)
    database: str | None = None


@dataclass(frozen=True, slots=True)
class LlmAccess:
    """What it takes to ask one language model; the key never shows in the representation.

    Attributes:
        model: The model's name at the endpoint.
        base_url: Address of an endpoint that speaks OpenAI's protocol, up to and with ``/v1``; empty for a recording.
        api_key: Its key; ``None`` for an endpoint that asks for none.
        price_in: Price of a million tokens read, in any currency.
        price_out: Price of a million tokens written.
        timeout: Seconds to wait for an answer, or for the next piece of a stream.
        concurrency: Calls at the same time.
        attempts: Tries of one call.
        cassette: File of recorded answers.
        cassette_mode: ``replay`` answers from the recording alone, ``record`` writes one, ``auto`` adds what it lacks.
        deidentify: Whether names, dates and numbers that identify a person are taken out of what is sent.
        max_calls: Calls at most; ``None`` for no limit.
        max_tokens: Tokens read and written at most.
        max_cost: Money at most; needs prices.
        max_seconds: Seconds at most from the first call on.
        seed: Of a local model's random choices.
        device: Where a local model computes: ``auto``, or a device's name such as ``cpu`` or ``cuda:0``.
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

    @property
    def is_local(self) -> bool:
        """Whether the model is run in this process, so that nothing is sent anywhere."""
        return self.base_url == TRANSFORMERS
