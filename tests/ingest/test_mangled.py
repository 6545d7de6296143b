"""Every hand-drawn source, mangled at random: it is read with counts that add up, or refused in one line."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TINY, examples
from kgdx.errors import SourceError
from kgdx.ingest.check import check
from kgdx.ingest.column_mapping import stage
from kgdx.ingest.manifest import manifest
from kgdx.ingest.sources import read
from kgdx.schema import load_schema

FILES = {
    "hp.obo": "hp",
    "phenotype.hpoa": "hpoa",
    "genes_to_phenotype.txt": "genes",
    "orphanet-omim-xrefs.tsv": "orphanet_omim",
    "en_product1.xml": "orphanet_omim",
    "hp-zh.babelon.tsv": "hp_zh",
    "disease-names-zh.tsv": "disease_names_zh",
    "phenopacket.json": "phenopackets",
}

edit = st.tuples(
    st.sampled_from(["put", "cut", "double", "end"]),
    st.floats(0, 1, exclude_max=True),
    st.integers(1, 80),
    st.binary(min_size=1, max_size=6),
)


def mangled(content: bytes, edits: list[tuple[str, float, int, bytes]]) -> bytes:
    """Put bytes in, cut a piece out, double a piece, or end the file early."""
    for kind, where, length, new in edits:
        at = int(where * len(content))
        before, piece, after = content[:at], content[at : at + length], content[at + length :]
        content = {
            "put": before + new + piece + after,
            "cut": before + after,
            "double": before + piece + piece + after,
            "end": before + piece,
        }[kind]
    return content


@pytest.mark.parametrize("file", FILES)
@examples(60)
@given(edits=st.lists(edit, min_size=1, max_size=5))
def test_a_mangled_source_is_read_or_refused(file: str, edits: list[tuple[str, float, int, bytes]]) -> None:
    found = manifest(FILES[file])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        path.write_bytes(mangled((TINY / file).read_bytes(), edits))
        try:
            records = read(path, found)
        except SourceError as error:
            assert "\n" not in str(error) and error.hint
            return
    tables, rejects = stage(records, found)
    checked = check(tables, {found.name: rejects}, load_schema())
    counts = checked.counts[found.name]
    assert counts.read == counts.loaded + counts.merged + counts.quarantined
    assert checked.quarantine.height == counts.quarantined
