"""Corpora in JSON lines and documents: what is read keeps its ids and chunks, what is not is counted and named."""

from __future__ import annotations

import builtins
import gzip
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.errors import MissingExtraError, UsageError
from kgdx.literature.publications import Publication, PublicationCache
from kgdx.terms.corpora import MAX_CHUNK, Corpus, RefusedLine, chunk, kind_of
from kgdx.terms.documents import clean
from kgdx.terms.text_index import TextIndex, TextRecord
from kgdx.terms.text_search import SearchableTexts, index_corpus, index_fetched
from kgdx.terms.text_segment import TextPiece

PUBLISHED = {
    "PubMed abstracts": {
        "id": "pubmed23n0001_0",
        "title": "Gout.",
        "content": "It hurts.",
        "contents": "Gout. It hurts.",
        "PMID": 21,
    },
    "StatPearls": {
        "id": "article-100024_0",
        "title": "Gout -- Pain",
        "content": "It hurts.",
        "contents": "Gout -- Pain. It hurts.",
    },
    "Wikipedia": {
        "id": "wiki20220301en000_0",
        "title": "Gout",
        "content": "It hurts.",
        "contents": "Gout. It hurts.",
        "wiki_id": "7",
    },
    "textbooks": {
        "id": "Gout_Smith_0",
        "title": "Gout_Smith",
        "content": "It hurts.",
        "contents": "Gout_Smith. It hurts.",
    },
    "chunks": {"id": "a", "contents": "Gout hurts."},
}


def lines(rows: Sequence[object]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def read(folder: Path, start: tuple[int, int] = (0, 0)) -> list[TextRecord]:
    return list(Corpus.of(folder, "t").records(start))


@pytest.mark.parametrize("kind", PUBLISHED)
@pytest.mark.parametrize("packed", [False, True])
def test_each_corpus_is_recognised_and_keeps_ids_and_chunks(tmp_path: Path, kind: str, packed: bool) -> None:
    folder = tmp_path / "c" / "chunk"
    folder.mkdir(parents=True)
    row = PUBLISHED[kind]
    content = lines([row])
    (folder / f"a.jsonl{'.gz' if packed else ''}").write_bytes(gzip.compress(content) if packed else content)
    corpus = Corpus.of(tmp_path / "c", "t")
    assert corpus.kinds() == {kind: 1}
    ((piece,),) = [record.pieces for record in corpus.records((0, 0))]
    assert (piece.id, piece.title, piece.source) == (row["id"], row.get("title", ""), "t")
    assert piece.text == row.get("content", "Gout hurts.")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
FIELDS = st.sampled_from(["id", "title", "content", "contents", "PMID"])


@given(st.dictionaries(FIELDS, st.text(max_size=40) | JSON, max_size=5) | JSON)
def test_any_json_is_pieces_that_can_be_kept_or_refused(row: object) -> None:
    try:
        pieces = chunk(json.dumps(row).encode(), "t")
    except RefusedLine as error:
        assert 0 < len(str(error)) < 80
        return
    assert isinstance(row, dict)
    assert pieces and pieces[0].id == clean(str(row["id"]))
    for piece in pieces:
        assert "\0" not in "".join(piece) and "".join(piece).encode()
    kind_of(row)


@given(st.binary(max_size=80))
def test_any_bytes_are_pieces_or_refused(line: bytes) -> None:
    try:
        chunk(line, "t")
    except RefusedLine:
        return


@given(
    st.lists(st.binary(max_size=30).filter(lambda each: b"\n" not in each) | st.just(b'{"id": "a", "content": "b"}'))
)
def test_records_from_any_place_are_the_rest_of_all(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("c")
    (folder / "a.jsonl").write_bytes(b"\n".join(rows))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(b"\n".join(rows))[:-3])
    (folder / "c.txt").write_bytes(b"c")
    whole = read(folder)
    assert [record.at for record in whole] == sorted({record.at for record in whole})
    for number, record in enumerate(whole):
        assert read(folder, (record.at[0], record.at[1] + 1)) == whole[number + 1 :]


BAD = {
    b"{": "no JSON",
    b"[1]": "no object",
    b"\xff": "no UTF-8",
    b"[" * 99_999: "no JSON",
    b'{"content": "a"}': "no id",
    b'{"id": true, "content": "a"}': "no id",
    b'{"id": "a"}': "neither content nor contents",
    b'{"id": "a", "content": 7}': "a title or content that is no text",
    b'{"id": "a", "content": "  "}': "no text",
    b'{"id": "a", "content": "b" "': "no JSON",
}


@pytest.mark.parametrize("line", BAD)
def test_a_line_that_is_no_chunk_is_named_with_its_number(tmp_path: Path, line: bytes) -> None:
    good = b'{"id": "g", "content": "c"}\n'
    (tmp_path / "a.jsonl").write_bytes(good + b"\n" + line + b"\n" + good)
    found = read(tmp_path)
    assert [bool(record.pieces) for record in found] == [True, False, True]
    assert (found[1].reason, found[1].where) == (BAD[line], f"a.jsonl:3: {BAD[line]}")


def test_nul_bytes_and_halves_of_characters_are_replaced() -> None:
    (piece,) = chunk(b'{"id": "a", "content": "b\\u0000c \\ud800"}', "t")
    assert piece.text == "b c \ufffd"


def test_a_chunk_beyond_the_limit_is_cut_and_loses_nothing() -> None:
    text = "A sentence of words. " * 1000
    pieces = chunk(json.dumps({"id": "a", "content": text}).encode(), "t")
    assert [piece.id for piece in pieces] == ["a", "a#2", "a#3"]
    assert all(len(piece.text) <= MAX_CHUNK for piece in pieces)
    assert "".join("".join(piece.text for piece in pieces).split()) == "".join(text.split())


def test_a_line_beyond_the_limit_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgdx.terms.corpora.MAX_LINE", 64)
    good = b'{"id": "g", "content": "c"}\n'
    (tmp_path / "a.jsonl").write_bytes(good + b"x" * 300 + b"\n" + good)
    assert [record.where for record in read(tmp_path)] == [
        "a.jsonl:1",
        "a.jsonl:2: a line longer than 0 MiB",
        "a.jsonl:3",
    ]


def test_a_damaged_file_keeps_the_lines_before_its_end(tmp_path: Path) -> None:
    rows = [{"id": str(at), "content": os.urandom(40).hex()} for at in range(500)]
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines(rows))[:-2000])
    (tmp_path / "b.jsonl.gz").write_bytes(b"no gzip")
    index = index_corpus(tmp_path / "home", Corpus.of(tmp_path, "t"))
    tally = index.tally
    assert tally.kept > 300 and tally.records == tally.kept + sum(tally.refused.values())
    assert tally.refused == {"a damaged file": 2}
    assert "b.jsonl.gz:1: a damaged file (Not a gzipped file" in tally.named[1]


def test_a_file_that_cannot_be_read_is_named_and_alone_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("Gout.")
    (tmp_path / "b.txt").write_text("Fever.")
    read_bytes = Path.read_bytes

    def refused(self: Path) -> bytes:
        if self.name == "a.txt":
            raise PermissionError(13, "Permission denied")
        return read_bytes(self)

    monkeypatch.setattr(Path, "read_bytes", refused)
    index = index_corpus(tmp_path / "home", Corpus.of(tmp_path, "t"))
    assert index.tally.named == ["a.txt: a file that cannot be read (Permission denied)"]
    for _ in range(2):
        with pytest.raises(UsageError, match=r"nothing in .* can be read: a.txt: a file that cannot be read"):
            index_corpus(tmp_path / "home", Corpus.of(tmp_path / "a.txt", "alone"))


PAGE = """<!doctype html><html><head><title>T</title><script>var x;</script><style>p{}</style></head><body>
<nav>Home About</nav><header>Logo</header><h1>Gout</h1><p>It <b>hur</b>ts.</p><table><tr><td>uric</td><td>acid</td></tr>
</table><!-- secret --><p>痛风</p><footer>Imprint</footer></body></html>"""


def test_html_gives_its_text_without_what_surrounds_it(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(PAGE, encoding="utf-8")
    (record,) = read(tmp_path)
    text = " ".join(piece.text for piece in record.pieces)
    assert text.split() == ["Gout", "It", "hurts.", "uric", "acid", "痛风"]


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_file_is_a_record(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("c")
    for name in ("a.txt", "b.html", "c.jsonl", "d.jsonl.gz"):
        (folder / name).write_bytes(content)
    for record in read(folder):
        assert bool(record.pieces) != bool(record.reason)
        assert all("\0" not in piece.text and piece.text.encode() for piece in record.pieces)


def pdf(text: str) -> bytes:
    stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    made, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(made))
    return made + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + trailer


def test_pdf_is_read_page_by_page_and_what_cannot_be_read_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pypdfium2 = pytest.importorskip("pypdfium2")
    (tmp_path / "gout.pdf").write_bytes(pdf("Gout hurts."))
    (tmp_path / "scan.pdf").write_bytes(pdf(""))
    (tmp_path / "torn.pdf").write_bytes(pdf("Torn.")[:60])
    (tmp_path / "long.pdf").write_bytes(pdf("Long."))
    (tmp_path / "locked.pdf").write_bytes(pdf("Locked."))
    opened, length = pypdfium2.PdfDocument, pypdfium2.PdfDocument.__len__

    def document(file: Path) -> Any:
        if file.name == "locked.pdf":
            raise pypdfium2.PdfiumError("Failed to load document (PDFium: Incorrect password error).")
        return opened(file)

    monkeypatch.setattr(pypdfium2, "PdfDocument", document)
    monkeypatch.setattr(opened, "__len__", lambda self: length(self) + 9999 * ("long" in str(self._input)))
    index = index_corpus(tmp_path / "home", Corpus.of(tmp_path, "t"))
    assert index.tally.refused == {
        "a password": 1,
        "more than 5,000 pages": 1,
        "only pictures of pages, as of a scan": 1,
        "a damaged PDF": 1,
    }
    assert index.segments[0][0].pieces([0]) == [TextPiece("t:gout.pdf#page=1", "gout", "Gout hurts.", "t")]


def test_a_pdf_without_the_extra_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf("Gout."))
    imported = builtins.__import__

    def without(name: str, *given: Any) -> Any:
        if name == "pypdfium2":
            raise ImportError(name)
        return imported(name, *given)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        MissingExtraError, match=r"reading a.pdf needs an optional dependency: pip install .kgdx\[documents\]"
    ):
        index_corpus(tmp_path / "home", Corpus.of(tmp_path, "t"))


def test_a_document_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgdx.terms.documents.MAX_BYTES", 4)
    (tmp_path / "a.txt").write_text("Gout hurts.")
    assert [record.reason for record in read(tmp_path)] == ["longer than 0 MiB"]


def test_abstracts_that_were_fetched_are_searched_with_their_ids(tmp_path: Path) -> None:
    shelf = PublicationCache(tmp_path / "pubmed.sqlite")
    shelf.put_publications(["3"], [Publication("1", "Gout", abstract="Uric acid."), Publication("2", "No abstract")])
    home = tmp_path / "home"
    assert index_fetched(tmp_path / "none.sqlite", home) == 0
    assert index_fetched(tmp_path / "pubmed.sqlite", home) == 1
    assert SearchableTexts(None, home).search("uric")[0][:4] == ("PMID:1", "Gout", "Uric acid.", "abstracts")
    shelf.put_publications((), [Publication("4", "Fever", abstract="Chills.")])
    shelf.close()
    assert index_fetched(tmp_path / "pubmed.sqlite", home) == 2
    assert len(TextIndex(home / "abstracts")) == 2
    assert asdict(TextIndex(home / "abstracts").tally)["kept"] == 2
