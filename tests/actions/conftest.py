"""The fixtures of the actions' tests."""

from __future__ import annotations

import pytest

from actions.fakes import Fake


@pytest.fixture
def graph() -> Fake:
    return Fake()
