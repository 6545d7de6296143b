"""What a server is allowed: where it listens, who may ask, how much and for how long."""

from __future__ import annotations

import ipaddress
import os
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path

from kgdx.errors import ConfigError, UsageError

LEAST_TOKEN = 16
"""Fewest characters of a token: what is shorter can be guessed."""


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a server.

    Attributes:
        askers: Processes that ask a language model or PubMed, which may take minutes: diagnoses must not wait for them.
        hosts: Names besides ``localhost`` and addresses that requests may be sent to.
        log_requests: Whether to write a line for each request (never with what was asked).
        reader: A language model that reads the texts of `kgdx mcp` after the rules; a request to `kgdx serve` asks.
        heed_doubts: Whether what it doubts is taken as unknown.
    """

    store: str | None = None
    host: str = "127.0.0.1"
    port: int = 8765
    workers: int = 2
    askers: int = 2
    token: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()
    encoder: bool = False
    max_body: int = 2_000_000
    rate: float = 50.0
    waiting: int = 64
    seconds: float = 20.0
    ask_seconds: float = 300.0
    log_requests: bool = True
    reader: str | None = None
    heed_doubts: bool = False

    def checked(self) -> Options:
        """Return the options if they are safe."""
        if self.token is None and not is_loopback(self.host):
            raise UsageError(
                f"{self.host} can be reached from other machines",
                hint="give a token with --token-file or KGDX_SERVE_TOKEN, or listen on 127.0.0.1",
            )
        if self.token is not None and len(self.token) < LEAST_TOKEN:
            hint = f"make one of at least {LEAST_TOKEN} characters, such as by `openssl rand -hex 32`"
            raise UsageError("the token is too short", hint=hint)
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and " " not in self.token):
            raise UsageError("the token holds characters that no header can", hint="use letters and digits")
        return self


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::"), is_loopback("example.org")
        (True, True, False, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def read_token(file: Path | None) -> str | None:
    """Return the token of a file, or else of ``KGDX_SERVE_TOKEN``; ``None`` where neither is given."""
    if file is None:
        return os.environ.get("KGDX_SERVE_TOKEN") or None
    try:
        with file.open(encoding="utf-8") as stream:
            mode, token = os.fstat(stream.fileno()).st_mode, stream.read(4096).strip()
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the token file {file}", hint="give a file of one line of text") from error
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError(f"others can read the token file {file}", hint=f"run `chmod 600 {file}`")
    if not token:
        raise ConfigError(f"the token file {file} is empty", hint="write a token into it")
    return token


def same_token(given: str, expected: str) -> bool:
    """Compare tokens in a time that says nothing of where they differ."""
    return secrets.compare_digest(given.encode("utf-8", "replace"), expected.encode())
