"""A tiny language model in this process, with random weights, re-ranks: whatever it writes, nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kgdx
from llm.test_local_model import local, made, torch
from policies.test_rerank import PATIENT

__all__ = ["torch"]

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def test_a_model_that_babbles_leaves_the_order_of_retrieval(tiny_graph: Path, torch: Any, tmp_path: Path) -> None:
    from kgdx.policies.rerank import RerankPolicy

    model = local(made(tmp_path, torch))
    with kgdx.open(tiny_graph) as graph:
        plain = graph.diagnose(PATIENT, top=50)
        found = graph.diagnose(PATIENT, policy=RerankPolicy(explain=0, top=50, max_tokens=32), model=model)
    assert [each.id for each in found] == [each.id for each in plain]
    assert found.reranking is not None and found.reranking.stands
    assert [each.where for each in found.issues].count("rerank") == 1
