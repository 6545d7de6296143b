"""The client library's waits between two tries, made short."""

from __future__ import annotations

import importlib.util

import pytest


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("openai") is not None:
        monkeypatch.setattr("kgdx.llm.endpoint.FIRST_WAIT_S", 0.01)
