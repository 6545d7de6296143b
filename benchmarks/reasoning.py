"""What an OWL reasoner (HermiT, of owlready2) says of a graph's joins; `python -m benchmarks.reasoning GRAPH`.

Diseases, symptoms and HPO's terms are classes: what is joined is equivalent, what a source calls narrower and what HPO
has below a term are subclasses. A subclass is less than what it is below: the class of what is one and not the other
has to be possible. Where a reasoner finds it impossible, joins contradict what the sources say, and the pair is named.
Needs Java.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from owlready2 import World, sync_reasoner_hermit

import kgdx
from kgdx.graph.protocol import Store
from kgdx.schema.model import MATCHES

BASE = "https://kgdx.example/"
OWL, RDFS = "http://www.w3.org/2002/07/owl#", "http://www.w3.org/2000/01/rdf-schema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path)
    options = parser.parse_args(arguments)
    with kgdx.open(options.graph) as graph:
        equal, below = stated(graph.store)
        names = {
            row["id"]: row["name"]
            for label in ("Disease", "Symptom", "Phenotype")
            for row in graph.store.export_nodes(label, ["name"]).to_pylist()
        }
    wrong = contradictions(equal, below)
    print(f"{len(equal):,} equal pairs, {len(below):,} of which one is below the other, {len(wrong):,} contradictions")
    for one, other in wrong:
        print(f"{names[one]} ({one}) is below {names[other]} ({other}), and joined with it")
    return 0


def stated(store: Store) -> tuple[set[tuple[str, str]], list[tuple[str, str]]]:
    """Return the pairs that are equal, and those of which the first is below the second."""
    equal, below = set[tuple[str, str]](), set[tuple[str, str]]()
    found = [(relation, "Disease", "Disease", type) for relation, type in MATCHES.items()]
    found += [("narrower", "Phenotype", "Phenotype", "IS_A"), ("", "Symptom", "Phenotype", "MAPPED_TO")]
    for relation, start, end, type in found:
        for row in store.export_relations(type, start, end, [] if relation else ["relation"]).to_pylist():
            pair, called = (row["start"], row["end"]), relation or row["relation"]
            if called == "exact":
                equal.add(pair)
            elif called in ("narrower", "broader"):
                below.add(pair if called == "narrower" else pair[::-1])
    return equal, sorted(below)


def contradictions(equal: Collection[tuple[str, str]], below: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs of which the first cannot be less than the second, as the reasoner finds."""
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "classes.nt"
        path.write_text("".join(f"{line} .\n" for line in triples(equal, below)), "utf-8")
        world = World()
        world.get_ontology(path.as_uri()).load()
        sync_reasoner_hermit(world, debug=0)
        found = [each.name for each in world.inconsistent_classes()]
    return sorted(below[int(name.removeprefix("less_"))] for name in found if name.startswith("less_"))


def triples(equal: Collection[tuple[str, str]], below: Sequence[tuple[str, str]]) -> Iterator[str]:
    for id in sorted({id for pair in (*equal, *below) for id in pair}):
        yield f"<{BASE}{id}> <{RDF}type> <{OWL}Class>"
    yield from (f"<{BASE}{one}> <{OWL}equivalentClass> <{BASE}{other}>" for one, other in sorted(equal))
    for number, (one, other) in enumerate(below):
        less = f"<{BASE}less_{number}>"
        yield f"<{BASE}{one}> <{RDFS}subClassOf> <{BASE}{other}>"
        yield f"{less} <{RDF}type> <{OWL}Class>"
        yield f"{less} <{RDFS}subClassOf> <{BASE}{other}>"
        yield f"{less} <{RDFS}subClassOf> _:not{number}"
        yield f"_:not{number} <{RDF}type> <{OWL}Class>"
        yield f"_:not{number} <{OWL}complementOf> <{BASE}{one}>"


if __name__ == "__main__":
    raise SystemExit(main())
