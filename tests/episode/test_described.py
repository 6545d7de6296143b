"""Actions in words: what a prompt, the documentation and people are told of them comes from the classes."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from kgdx.actions import ACTIONS
from kgdx.episode.described import docstrings, fields_of, line, markdown, purpose

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "actions.md"


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_a_line_names_the_action_every_field_and_the_purpose(name: str) -> None:
    kind = ACTIONS[name]
    told = line(kind)
    assert "\n" not in told
    assert told.startswith(f'{{"action": "{name}"')
    assert told.endswith(purpose(kind))
    assert all(f'"{field}": ' in told for field in kind.model_fields)


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_every_field_says_what_it_is_for(name: str) -> None:
    fields = fields_of(ACTIONS[name])
    told = docstrings(ACTIONS[name])
    assert all(told.get(field.name) and field.type for field in fields)


def test_a_line_needs_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(of: object) -> str:
        raise OSError("no source")

    monkeypatch.setattr(inspect, "getsource", absent)
    fields_of.cache_clear()
    line.cache_clear()
    assert line(ACTIONS["get_symptom"]).startswith('{"action": "get_symptom"')


def test_bounds_and_defaults_are_told() -> None:
    fields = {field.name: field for field in fields_of(ACTIONS["infer_by_symptom"])}
    assert (fields["symptoms"].type, fields["symptoms"].default) == ("1 to 50 texts", None)
    assert (fields["min_match_count"].type, fields["min_match_count"].default) == ("1 or more", "1")


def test_the_page_of_the_documentation_is_up_to_date() -> None:
    made = markdown(ACTIONS)
    assert PAGE.read_text(encoding="utf-8") == made, "run `python -m kgdx.episode.described docs/reference/actions.md`"
