from __future__ import annotations

from kgdx.ingest.pipeline.build_report import Change
from kgdx.ingest.pipeline.graph_diff import Comparison
from kgdx.render.terminal.build_text import comparison
from kgdx.render.terminal.console import text

MINTED = "KGDX:clinic.0123456789abcdef"
FOUND = Comparison(
    "the build before",
    "/data/graphs/default",
    (
        Change("Disease", "clinic", added=2, examples=(f"+ {MINTED}", "+ OMIM:1")),
        Change("Disease", "hpoa", removed=1, changed=6_980, examples=("- OMIM:2", "~ OMIM:3", "~ OMIM:4")),
        Change("MeshDescriptor-ALLOWABLE_QUALIFIER->MeshQualifier", "mesh", 28, examples=("+ MESH:D1 MESH:Q1",)),
        Change("PatientCase-DIAGNOSED->Disease", "clinic", 1, examples=("+ case one OMIM:2",)),
    ),
    {MINTED: "百日咳", "OMIM:1": "Marfan syndrome", "OMIM:2": "OMIM:2", "MESH:Q1": "blood supply"},
)

SHOWN = """\
From the build before to /data/graphs/default: 31 rows added, 1 row removed,
6,980 nodes changed

Disease
  clinic  2 added
  hpoa    1 removed, 6,980 changed
     +  百日咳
     -  OMIM:2
     ~  OMIM:3

MeshDescriptor-ALLOWABLE_QUALIFIER->MeshQualifier
  mesh    28 added
     +  MESH:D1 → blood supply (MESH:Q1)

PatientCase-DIAGNOSED->Disease
  clinic  1 added
     +  case one OMIM:2
"""


def test_a_comparison_names_what_is_different_table_by_table() -> None:
    assert text(comparison(FOUND), 80) == SHOWN


def test_examples_can_be_left_out_or_be_more() -> None:
    bare = text(comparison(FOUND, 0))
    assert "6,980 changed" in bare and "OMIM:3" not in bare
    assert "OMIM:4" in text(comparison(FOUND, 5))
