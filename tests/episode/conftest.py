"""The actions of the loop's own tests have names while these run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from episode.worlds import Broken, Count, Idle, Note
from kgdx.episode import ACTIONS


@pytest.fixture(scope="module")
def named() -> Iterator[None]:
    kinds = (Note, Idle, Count, Broken)
    for kind in kinds:
        ACTIONS.register(kind.name, kind)
    yield
    for kind in kinds:
        ACTIONS.forget(kind.name)
