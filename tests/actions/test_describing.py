"""Diseases in words, and the MeSH heading of each with the record of how it was found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import ValidationError

import kgdx
from actions.fakes import Fake
from episode.states import state_of
from kgdx.actions import Describe, InferByPhenotype
from kgdx.actions.describing import GetDefinition, GetEntry, GetPassage, NameFound, named
from kgdx.answer.artifacts import Retrieved, described_of, names_of
from kgdx.case import Case
from kgdx.episode import Kind, State, step
from kgdx.errors import AbsentError, StoreError
from kgdx.graph.protocol import NodeTable
from kgdx.results.cited import Resolved
from kgdx.terms.names.mesh_index import FILE, Headings, MeshIndex, write_mesh
from terms.names.named import nodes

PERTUSSIS = "MESH:D014917"


def disease(id: str, name: str, text: str | None = None, synonyms: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"id": id, "name": name, "name_zh": None, "synonyms": list(synonyms), "text": text, "source": "book"}


class Described(Fake):
    """A graph with diseases, and MeSH descriptors where it is given an index."""

    def __init__(self, *rows: dict[str, Any], index: Callable[[], MeshIndex] | None = None) -> None:
        super().__init__()
        self.headings = Headings(index or self.without)
        self.answers["mesh_of_diseases"] = []
        self.rows = rows

    def run(self, template: str, /, **parameters: Any) -> list[dict[str, Any]]:
        if template == "descriptions_of_diseases":
            self.asked.append((template, parameters))
            return [row for row in self.rows if row["id"] in parameters["diseases"]]
        if template == "mesh_by_ids":
            self.asked.append((template, parameters))
            note = {
                "heading": "Whooping Cough",
                "scope_note": "A respiratory\n infection.",
                "tree_numbers": ["C01.150"],
            }
            return [{"id": id, **note} for id in parameters["descriptors"]]
        return super().run(template, **parameters)

    @staticmethod
    def without() -> MeshIndex:
        raise AbsentError("the graph has no MeSH descriptors")


@pytest.fixture
def index(tmp_path: Path) -> Callable[[], MeshIndex]:
    names = {PERTUSSIS: ("Whooping Cough", "Pertussis"), "MESH:D005334": ("Fever",)}
    source = NodeTable("Source", pa.table({"id": ["test"], "version": ["2025"], "checksum": ["x"]}))
    write_mesh(tmp_path / FILE, [nodes("MeshDescriptor", names), source])
    return lambda: MeshIndex(tmp_path / FILE)


def start(*ids: str) -> State:
    return state_of(Case("q"), "?", resolved=(Resolved("x", ("Disease",), ids, ids),))


def test_a_heading_is_looked_up_by_name_with_its_scope_note_and_the_record_of_the_decision(
    index: Callable[[], MeshIndex],
) -> None:
    graph: Any = Described(disease("D:1", "pertusis", "A cough."), index=index)
    (found,) = described_of(step(graph, start("D:1"), Describe()))
    assert (found.names, found.text) == (("pertusis",), "A cough.")
    mesh = found.mesh
    assert mesh is not None
    assert (mesh.id, mesh.heading, mesh.method, mesh.origin) == (PERTUSSIS, "Whooping Cough", "edit", "name")
    assert (mesh.scope_note, mesh.tree_numbers) == ("A respiratory infection.", ("C01.150",))
    assert mesh.decision["reason"] == "'pertusis' and 'Pertussis' differ by a typo"
    assert mesh.decision["version"] == "2025"
    assert json.loads(json.dumps(found.to_dict()))["mesh"]["decision"]["candidates"][0]["id"] == PERTUSSIS


def test_a_chinese_disease_is_looked_up_by_the_english_name_that_its_text_gives(index: Callable[[], MeshIndex]) -> None:
    text = "百日咳（pertussis，whooping cough）是急性呼吸道传染病。"
    graph: Any = Described(disease("D:1", "百日咳", text), disease("D:2", "小儿百日咳", text), index=index)
    first, second = described_of(step(graph, start("D:1", "D:2"), Describe()))
    assert first.mesh is not None
    assert (first.mesh.id, first.mesh.method) == (PERTUSSIS, "exact")
    assert second.mesh is not None
    assert second.mesh.id == ""  # the text gives the English name of another, wider disease
    assert second.mesh.decision["reason"]


def test_a_heading_that_the_graph_states_goes_before_names(index: Callable[[], MeshIndex]) -> None:
    graph: Any = Described(disease("D:1", "fever"), index=index)
    stated = {"disease": "D:1", "heading": "Whooping Cough", "scope_note": None, "tree_numbers": [], "source": "mondo"}
    narrow = {**stated, "id": "MESH:X", "relation": "narrower", "method": "given", "score": None, "decision": "no json"}
    exact = {**stated, "id": PERTUSSIS, "relation": "exact", "method": "given", "score": 1.0, "decision": '{"a": 1}'}
    graph.answers["mesh_of_diseases"] = [narrow, exact]
    (found,) = described_of(step(graph, start("D:1"), Describe()))
    assert found.mesh is not None
    assert (found.mesh.id, found.mesh.origin, found.mesh.decision) == (PERTUSSIS, "graph", {"a": 1})


def test_a_graph_without_mesh_describes_all_the_same() -> None:
    graph: Any = Described(disease("D:1", "flu", "An infection."))
    (found,) = described_of(step(graph, start("D:1"), Describe()))
    assert (found.text, found.mesh) == ("An infection.", None)
    assert described_of(step(graph, start("D:1"), Describe(mesh=False))) == (found,)


def test_an_index_that_cannot_be_made_is_told_of_and_tried_again(index: Callable[[], MeshIndex]) -> None:
    opened: list[Callable[[], MeshIndex]] = [broken, index]
    graph: Any = Described(disease("D:1", "Pertussis"), index=lambda: opened.pop(0)())
    state = step(graph, start("D:1"), Describe())
    assert [each.mesh for each in described_of(state)] == [None]
    assert [each.data["problems"] for each in state.log if each.kind is Kind.RESULT] == [
        [{"name": "mesh", "error": "StoreError", "message": "the disk is full"}]
    ]
    (again,) = described_of(step(graph, start("D:1"), Describe()))
    assert again.mesh is not None and again.mesh.id == PERTUSSIS


def broken() -> MeshIndex:
    raise StoreError("the disk is full")


def test_what_is_described_is_kept_once_and_unknown_ids_give_nothing() -> None:
    graph: Any = Described(disease("D:1", "flu"))
    once = step(graph, start(), Describe(diseases=("D:1", "D:nowhere")))
    assert [each.id for each in described_of(once)] == ["D:1"]
    again = step(graph, step(graph, once, Describe(diseases=("D:1",))), Describe(diseases=("D:1",)))
    assert described_of(again) == described_of(once)
    assert again.counts.stagnant == 1


def test_the_diseases_that_are_named_come_before_those_that_were_found() -> None:
    rows = tuple({"id": f"D:{n}", "name": "x", "matched": 1} for n in range(9))
    found = state_of(
        Case("q"),
        resolved=(Resolved("a", ("Disease",), ("D:a",)), Resolved("s", ("Symptom",), ("S:1",))),
        retrieved=(Retrieved("infer_diseases_by_symptoms", {}, rows),),
    )
    assert named(found) == ("D:a", "D:0", "D:1", "D:2")


def test_passages_are_found_in_texts_and_articles_and_say_what_was_asked() -> None:
    graph: Any = Fake()
    text = {"disease": "OMIM:9", "disease_name": "gout", "source": "book"}
    graph.answers |= {
        "texts_of_diseases": [{**text, "kind": "definition", "text": "Gout is caused by uric acid. It hurts."}],
        "articles_of_diseases": [
            {**text, "document": "A:1", "title": "gout", "text": "Gout is more common in men. Gout is due to diet."}
        ],
    }
    made = step(graph, State(Case("p")), GetPassage(diseases=("gout",), about="cause"))
    (found,) = made.all(Retrieved)
    assert [row["text"] for row in found.rows] == ["Gout is caused by uric acid.", "Gout is due to diet."]
    assert {row["about"] for row in found.rows} == {"cause"}


def test_passages_about_nothing_known_are_refused() -> None:
    with pytest.raises(ValidationError, match="one of definition, cause"):
        GetPassage(diseases=("gout",), about="weather")


def test_a_finding_is_defined_in_the_words_of_its_ontology() -> None:
    graph: Any = Fake()
    graph.answers["phenotype_by_id"] = [{"id": "HP:0001250", "name": "Seizure", "definition": "A sudden discharge."}]
    made = step(graph, State(Case("p")), GetDefinition(phenotype="seizure"))
    (found,) = made.all(Retrieved)
    assert found.action == "get_definition"
    assert [(row["text"], row["about"]) for row in found.rows] == [("A sudden discharge.", "definition")]


def test_what_was_found_is_named_in_both_languages() -> None:
    graph: Any = Fake()
    graph.answers |= {
        "phenotypes_by_ids": [{"id": "HP:1", "name": "Fever", "name_zh": "发热"}],
        "descriptions_of_diseases": [],
        "same_as_of_diseases": [],
    }
    rows = ({"disease": "D", "id": "HP:1", "name": "Fever"},)
    state = state_of(question="?", retrieved=(Retrieved("phenotypes_of_diseases", {}, rows, "get_phenotype"),))
    made = step(graph, state, NameFound())
    assert names_of(made)["HP:1"] == {"en": "Fever", "zh": "发热"}
    assert NameFound().name == "name_found"


def test_a_disease_is_described_by_its_name_too() -> None:
    graph: Any = Described(disease("KGDX:b.1", "influenza"))
    (found,) = described_of(step(graph, start(), Describe(diseases=("influenza", "a name that means nothing"))))
    assert found.id == "KGDX:b.1"


def test_an_entry_has_its_ids_its_synonyms_and_the_findings_beside_it(tiny_graph: Path) -> None:
    with kgdx.open(tiny_graph) as graph:
        state = step(graph, start(), GetEntry(names=("Seizure", "OMIM:100001", "no name of anything")))
    *_, found = state.all(Retrieved)
    disease, *_, finding = found.rows
    assert disease["id"] == "OMIM:100001"
    assert (finding["id"], finding["above"]) == ("HP:0001250", ["Abnormality of the nervous system (HP:0000707)"])
    assert finding["below"] == ["Status epilepticus (HP:0002133)", "Focal-onset seizure (HP:0007359)"]


def test_a_mode_of_inheritance_is_found_by_its_name(tiny_graph: Path) -> None:
    with kgdx.open(tiny_graph) as graph:
        state = step(graph, start(), InferByPhenotype(phenotypes=("autosomal recessive inheritance", "Seizure")))
    *_, inferred = state.all(Retrieved)
    assert (inferred.rows[0]["id"], inferred.rows[0]["matched"]) == ("OMIM:100001", 2)
