"""How PubMed is asked, from the settings: nothing is asked without an e-mail address, which NCBI wants to have."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from kgdx.config import Settings
from kgdx.config.values import switch
from kgdx.errors import ConfigError

BASE_URL = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
"""NCBI's E-utilities."""

SECONDS = 5.0
"""How long an answer waits for PubMed, unless said otherwise."""

_EMAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")


@dataclass(frozen=True, slots=True)
class PubMedAccess:
    """What it takes to ask PubMed; the key never shows in the representation.

    Attributes:
        email: Where NCBI reaches whoever asks.
        api_key: Of an NCBI account: ten requests a second instead of three.
        tool: What the program calls itself.
        base_url: Where the E-utilities are.
        seconds: How long an answer waits.
        ask: Whether PubMed is asked unless a call says otherwise.
    """

    email: str
    api_key: str | None = field(default=None, repr=False)
    tool: str = "kgdx"
    base_url: str = BASE_URL
    seconds: float = SECONDS
    ask: bool = False

    @property
    def interval(self) -> float:
        """Seconds between two requests: NCBI allows three a second, ten with a key; a little more, as it counts."""
        return 0.11 if self.api_key else 0.36


def pubmed_access(settings: Settings) -> PubMedAccess | None:
    """Return how to ask PubMed; ``None`` where no e-mail address is set.

    Raises:
        ConfigError: A setting cannot be used, or PubMed is to be asked and there is no address.

    Example:
        >>> env = {"KGDX_HOME": "/tmp/kgdx-doc", "KGDX_PUBMED_EMAIL": "ada@example.org"}
        >>> pubmed_access(Settings.load(environ=env)).interval
        0.36
    """
    given = settings.pubmed_settings
    ask = switch("KGDX_PUBMED", given.get("ask", "false"))
    email = given.get("email")
    if email is None:
        if ask:
            raise ConfigError("KGDX_PUBMED is on, and NCBI wants an e-mail address", hint="set KGDX_PUBMED_EMAIL")
        return None
    if not _EMAIL.fullmatch(email):
        raise ConfigError("KGDX_PUBMED_EMAIL is no e-mail address", hint="for example ada@example.org")
    return PubMedAccess(
        email,
        given.get("api_key"),
        tool=given.get("tool", "kgdx"),
        base_url=_address(given.get("base_url", BASE_URL)),
        seconds=_seconds(given.get("seconds", str(SECONDS))),
        ask=ask,
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 600:
        raise ConfigError(f"KGDX_PUBMED_SECONDS is {text[:40]!r}", hint="give a number from 0 to 600")
    return value


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        plain = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        plain = False
    if not plain or "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError("KGDX_PUBMED_BASE_URL is no plain http address", hint=f"leave it out for {BASE_URL}")
    return url.rstrip("/")
