"""kgdx finds the package where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import kgdx
from kgdx.actions.graph_source import MAPPED
from kgdx.errors import ConfigError, UsageError
from kgdx_foreign.commands import MappingCommands
from kgdx_foreign.mapped_source import ForeignSource

Found = Callable[[str, str], object]


def test_its_source_is_what_a_mapping_is_opened_with(found: Found, tmp_path: Path) -> None:
    assert found("kgdx.graphs", "mapping") is MAPPED.get("mapping") is ForeignSource
    with pytest.raises(ConfigError, match="cannot be read"):
        kgdx.open("bolt://127.0.0.1:9", mapping=tmp_path / "mapping.yaml")


def test_its_commands_are_the_command_lines(found: Found, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    from kgdx.cli import main

    assert found("kgdx.commands", "mapping") is MappingCommands
    (tmp_path / "mine.yaml").touch()
    with pytest.raises(SystemExit) as ended:
        main(["neo4j", "mapping", "new", str(tmp_path / "mine.yaml")])
    assert ended.value.code == UsageError.exit_code
    assert "is there already: give another name, or --force" in capsys.readouterr().err
