from __future__ import annotations

from pathlib import Path

import pytest

from kgdx.errors import ConfigError, UsageError
from kgdx.serve.server_options import Options, is_loopback, read_token

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "kgdx.example", ""])
def test_other_machines_are_let_in_with_a_token_alone(host: str) -> None:
    with pytest.raises(UsageError, match="token"):
        Options(host=host).checked()
    assert Options(host=host, token=TOKEN).checked().host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LocalHost"])
def test_this_machine_needs_no_token(host: str) -> None:
    assert is_loopback(host) and Options(host=host).checked()


@pytest.mark.parametrize(
    "token", ["", "short", "with space in it 123", "non-ascii-é-012345678", "line\nbreak-01234567"]
)
def test_a_token_that_is_weak_or_fits_no_header_is_refused(token: str) -> None:
    with pytest.raises(UsageError, match="token"):
        Options(token=token).checked()


def test_a_token_never_shows_in_the_options() -> None:
    assert TOKEN not in repr(Options(token=TOKEN))


def test_a_token_is_read_from_a_private_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGDX_SERVE_TOKEN", "from-the-environment")
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        read_token(file)
    file.chmod(0o600)
    assert read_token(file) == TOKEN
    assert read_token(None) == "from-the-environment"


def test_a_token_file_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch(mode=0o600)
    for file in (empty, tmp_path / "missing", tmp_path):
        with pytest.raises(ConfigError, match="token"):
            read_token(file)
