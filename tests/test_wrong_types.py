"""Values of wrong types given to the public functions: each is refused in one line that names what was wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kgdx
from kgdx import api
from kgdx.errors import KgdxError

Call = Callable[[Any], object]

ON_A_GRAPH: dict[str, tuple[Call, str]] = {
    "seed": (lambda graph: graph.diagnose(["HP:0001250"], seed="1"), "seed is of the type str: give int"),
    "limits": (lambda graph: graph.diagnose(["HP:0001250"], limits=5), "limits is of the type int: give Limits"),
    "watch": (lambda graph: graph.diagnose(["HP:0001250"], watch=[]), "watch is of the type list: give Callable"),
    "consanguineous": (lambda graph: graph.diagnose(["HP:0001250"], consanguineous="yes"), "consanguineous is of the"),
    "inheritance": (lambda graph: graph.diagnose(["HP:0001250"], inheritance=[1]), "inheritance has a int"),
    "genes": (lambda graph: graph.diagnose(["HP:0001250"], genes=[2]), "genes has a int"),
    "keys": (lambda graph: graph.diagnose({1: 2}), "case: a key is of the type int"),
    "question": (lambda graph: graph.ask(None), "question is of the type NoneType: give str"),
    "rounds": (lambda graph: graph.ask("What is ptosis?", rounds="2"), "rounds is of the type str: give int"),
    "policy": (lambda graph: graph.consult(policy=7), "policy is of the type int: give str or Policy"),
    "disease": (lambda graph: graph.explain(["HP:0001250"], 5), "disease is of the type int: give str"),
    "name": (lambda graph: graph.ranked_disease(["a"]), "name is of the type list: give str"),
    "text": (lambda graph: graph.extract(b"ptosis"), "text is of the type bytes: give str"),
    "search": (lambda graph: graph.search(5), "text is of the type int: give str"),
    "limit": (lambda graph: graph.search("ptosis", limit="a"), "limit is of the type str: give int"),
    "template": (lambda graph: graph.run(5), "template is of the type int: give str"),
    "episode": (lambda graph: graph.diagnosis(None), "episode is of the type NoneType: give Episode"),
    "log": (lambda graph: graph.replay(["a"]), "a log holds a str"),
    "result": (lambda graph: graph.save({}), "result is of the type dict: give Diagnosis or Answer"),
}
ELSEWHERE: dict[str, tuple[Callable[[Path], object], str]] = {
    "open": (lambda _: kgdx.open(5), "store is of the type int: give str or Path"),  # type: ignore[arg-type]
    "build": (lambda folder: kgdx.build(5, store=folder), "sources is of the type int"),  # type: ignore[arg-type]
    "source": (lambda folder: kgdx.build([5], store=folder), "a source is given by a int"),  # type: ignore[list-item]
    "path of a source": (lambda folder: kgdx.build({"hp": 5}, store=folder), "a source is given by a int"),  # type: ignore[dict-item]
    "update": (lambda folder: api.update(int, store=folder), "sources is of the type type"),  # type: ignore[arg-type]
    "save": (lambda _: kgdx.save(5), "result is of the type int"),  # type: ignore[arg-type]
    "read_cases": (lambda _: kgdx.read_cases(5), "path is of the type int: give str or Path"),  # type: ignore[arg-type]
    "from_text": (lambda _: kgdx.Case.from_text(5), "text is of the type int"),  # type: ignore[arg-type]
    "from_phenopacket": (lambda _: kgdx.Case.from_phenopacket(5), "packet is of the type int"),  # type: ignore[arg-type]
}


@pytest.fixture(scope="module")
def graph(tiny_graph: Path) -> Iterator[kgdx.Graph]:
    with kgdx.open(tiny_graph) as found:
        yield found


@pytest.mark.parametrize("name", ON_A_GRAPH)
def test_a_graph_refuses_values_of_wrong_types(name: str, graph: kgdx.Graph) -> None:
    call, said = ON_A_GRAPH[name]
    with pytest.raises(KgdxError) as raised:
        call(graph)
    assert str(raised.value).startswith(said)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_function_refuses_values_of_wrong_types(name: str, tmp_path: Path) -> None:
    call, said = ELSEWHERE[name]
    with pytest.raises(KgdxError) as raised:
        call(tmp_path / "graph")
    assert str(raised.value).startswith(said)
