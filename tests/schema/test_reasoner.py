"""A reasoner finds the ontology consistent, and finds what contradicts it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest
from benchmarks.reasoning import contradictions
from owlready2 import OwlReadyInconsistentOntologyError, World, sync_reasoner_hermit

from kgdx.resources import resource
from kgdx.schema.owl_reader import IRI

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(shutil.which("java") is None, reason="the reasoner needs Java"),
]


def reasoned(facts: Callable[[Any], object]) -> Any:
    """The ontology with these facts, and what follows from them."""
    world = World()
    with resource("ontology", "kgdx.owl").open("rb") as stream:
        ontology = world.get_ontology(IRI).load(fileobj=stream)
    with ontology:
        facts(ontology)
        sync_reasoner_hermit(world, debug=0, infer_property_values=True)
    return ontology


def test_every_class_can_have_nodes() -> None:
    ontology = reasoned(lambda o: [kind(f"one_{kind.name}") for kind in o.classes()])
    assert list(ontology.world.inconsistent_classes()) == []


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(lambda o: o.Gene("x").is_a.append(o.Drug), id="a gene that is a drug"),
        pytest.param(lambda o: o.Disease("d").HAS_PHENOTYPE.append(o.Gene("g")), id="a gene as a phenotype"),
        pytest.param(lambda o: o.Disease("d").IS_A.append(o.Phenotype("p")), id="a disease below a phenotype"),
        pytest.param(lambda o: (d := o.Disease("d")).SAME_AS.append(d), id="what is the same as itself"),
    ],
)
def test_what_contradicts_the_axioms_is_inconsistent(facts: Callable[[Any], object]) -> None:
    with pytest.raises(OwlReadyInconsistentOntologyError):
        reasoned(facts)


def test_descent_and_inverses_follow() -> None:
    def facts(o: Any) -> None:
        seizure, focal, motor = (o.Phenotype(name) for name in ("seizure", "focal", "motor"))
        motor.IS_A.append(focal)
        focal.IS_A.append(seizure)
        o.Disease("epilepsy").HAS_PHENOTYPE.append(seizure)

    found = reasoned(facts)
    assert {each.name for each in found.motor.descends_from} == {"focal", "seizure"}
    assert [each.name for each in found.seizure.phenotype_of] == ["epilepsy"]


def test_a_join_that_contradicts_what_a_source_calls_narrower_is_named() -> None:
    below = [("form", "disease"), ("part", "disease"), ("other", "part")]
    assert contradictions({("form", "same"), ("same", "disease")}, below) == below[:1]
