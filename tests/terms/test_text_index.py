"""Texts by BM25: the formula, shards that make one index, interruptions, two makers at once, damage."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from kgdx.arrays.sparse import greatest
from kgdx.errors import MissingExtraError, StaleSnapshotError, StoreError, UsageError
from kgdx.terms.corpora import Corpus, cut, pieces_of
from kgdx.terms.encoder import Vectors
from kgdx.terms.text_index import CARD, Place, Sizes, TextIndex, TextRecord, build, plain
from kgdx.terms.text_ranking import Parameters, SegmentRanking
from kgdx.terms.text_search import SearchableTexts, index_corpus
from kgdx.terms.text_segment import TextPiece
from kgdx.terms.word_index import K1, B, WordIndex, words_of

TEXTS = [
    "Marfan syndrome is a disorder of connective tissue",
    "Lens dislocation in Marfan syndrome",
    "Gout hurts",
    "发热和咳嗽",
    "Syndrome after syndrome after syndrome of the lens",
]


def pieces(count: int = len(TEXTS)) -> list[TextPiece]:
    return [TextPiece(f"d:{at}", "", TEXTS[at % len(TEXTS)], f"s{at % 2}") for at in range(count)]


def test_scores_are_those_of_equation_20() -> None:
    told = [words_of(text) for text in TEXTS]
    mean = np.mean([len(each) for each in told])
    query = "lens syndrome syndrome"

    def score(words: list[str]) -> float:
        total = 0.0
        for word in words_of(query):
            n, tf = sum(word in each for each in told), words.count(word)
            idf = np.log((len(told) - n + 0.5) / (n + 0.5) + 1)
            total += idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * len(words) / mean))
        return float(total)

    assert WordIndex(TEXTS).scores(query) == pytest.approx([score(each) for each in told], rel=1e-5)


WORD = st.sampled_from("ab cd ef gh ij kl".split())  # noqa: SIM905
TEXT = st.lists(WORD, min_size=1, max_size=12).map(" ".join)


def made(folder: Path, pieces: list[TextPiece], sizes: Sizes = Sizes(), **given: Any) -> SegmentRanking:  # noqa: B008
    return SegmentRanking(TextIndex(build(folder, "f", plain(lambda: iter(pieces)), sizes=sizes, **given)).segments)


@examples(25)
@given(st.lists(TEXT, min_size=1, max_size=30), st.integers(1, 7), st.integers(1, 3), TEXT, st.integers(1, 5))
def test_shards_and_segments_of_any_size_answer_as_one_index(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], shard: int, segment: int, query: str, limit: int
) -> None:
    folder = tmp_path_factory.mktemp("texts")
    pieces = [TextPiece(str(at), "", text, f"s{at % 3}") for at, text in enumerate(texts)]
    parted = made(folder / "parted", pieces, Sizes(shard, segment))
    whole = made(folder / "whole", pieces)
    assert len(parted.segments) == -(-len(texts) // (shard * segment)) and len(whole.segments) == 1
    assert parted.scores(query) == pytest.approx(WordIndex(texts).scores(query), rel=1e-5)
    assert np.array_equal(parted.scores(query), whole.scores(query))
    for sources in ((), ("s1",), ("s0", "s2")):
        assert parted.search(query, sources, limit) == whole.search(query, sources, limit)


@pytest.mark.parametrize("segment", [1, 50])
@pytest.mark.parametrize("limit", [1, 32])
def test_what_is_skipped_changes_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, segment: int, limit: int
) -> None:
    rng = np.random.default_rng(limit)
    weight = 1 / np.arange(1, 2001)

    def text(words: int) -> str:
        return " ".join(f"w{each:x}" for each in rng.choice(2000, words, p=weight / weight.sum()))

    index = made(
        tmp_path / "i", [TextPiece(str(at), "", text(40), f"s{at % 4}") for at in range(3000)], Sizes(500, segment)
    )
    looked_up: list[int] = []
    real = SegmentRanking._looked_up

    def counted(self: SegmentRanking, at: int, *given: Any) -> Any:
        looked_up.append(at)
        return real(self, at, *given)

    monkeypatch.setattr(SegmentRanking, "_looked_up", counted)
    for _ in range(30):
        query = " ".join([text(20), *(f"w{each:x}" for each in rng.integers(50, 2000, 10))])
        scores = index.scores(query)
        for sources in ((), ("s1", "s2")):
            expected = scores.copy()
            if sources:
                expected[~np.isin(np.arange(3000) % 4, (1, 2))] = 0
            best = greatest(expected, limit)
            found = index.search(query, sources, limit)
            assert [(int(piece.id), score) for piece, score in found] == [(at, float(expected[at])) for at in best]
    assert looked_up, "words were skipped"


def test_threads_share_an_index_and_what_is_remembered_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgdx.terms.text_ranking._REMEMBERED", 1000)
    rng = np.random.default_rng(0)
    told = [" ".join(f"w{each:x}" for each in rng.geometric(0.05, 20)) for _ in range(800)]
    index = made(tmp_path / "i", [TextPiece(str(at), "", text, "s") for at, text in enumerate(told)])
    expected = [index.search(query, (), 5) for query in told[:100]]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda query: index.search(query, (), 5), told[:100])) == expected
    assert sum(map(len, index._remembered.values())) <= 1000


def test_pieces_without_a_common_word_are_not_found(tmp_path: Path) -> None:
    index = made(tmp_path / "i", pieces())
    assert [piece.id for piece, _ in index.search("lens", (), 10)] == ["d:1", "d:4"]
    assert index.search("nothing of it", (), 10) == []
    assert [piece.id for piece, _ in index.search("咳嗽", (), 10)] == ["d:3"]
    assert [piece.id for piece, _ in index.search("lens", ["s1"], 10)] == ["d:1"]


def test_a_number_is_no_subject_and_words_that_all_texts_have_are_no_answer(tmp_path: Path) -> None:
    said = ["Deletion 2 syndrome", "Noonan syndrome 4", "Noonan syndrome 2", *["A syndrome of it"] * 60]
    index = made(tmp_path / "i", [TextPiece(str(at), "", text, "s") for at, text in enumerate(said)])
    assert [piece.id for piece, _ in index.search("Noonan syndrome 2", (), 3)] == ["2", "1", "0"]
    wider = made(
        tmp_path / "w", [TextPiece(str(at), "", text, "s") for at, text in enumerate([*said, *["It"] * 6_000])]
    )
    assert index.search("Kabuki syndrome 2", (), 3) == wider.search("Kabuki syndrome 2", (), 3) == []
    assert [piece.id for piece, _ in index.search("syndrome 4", (), 1)] == ["1"]


def test_other_parameters_weigh_the_same_files_anew_and_stand_in_the_card(tmp_path: Path) -> None:
    index = made(tmp_path / "i", pieces())
    files = {each: each.stat().st_mtime_ns for each in (tmp_path / "i").rglob("*.npy")}
    rar2 = made(tmp_path / "i", pieces(), parameters=Parameters(1.2, 0.5))
    assert {each: each.stat().st_mtime_ns for each in (tmp_path / "i").rglob("*.npy")} == files
    told = [words_of(text) for text in TEXTS]
    mean = np.mean([len(each) for each in told])
    idf = np.log((5 - 2 + 0.5) / (2 + 0.5) + 1)
    expected = idf * 2.2 / (1 + 1.2 * (0.5 + 0.5 * len(told[1]) / mean))
    assert rar2.scores("lens")[1] == pytest.approx(expected, rel=1e-5) != index.scores("lens")[1]
    kept = TextIndex(build(tmp_path / "i", "f", plain(lambda: iter(pieces()))))
    assert (kept.card["k1"], kept.card["b"]) == (1.2, 0.5)
    for wrong in (Parameters(-1, 0.5), Parameters(1, 1.5), Parameters(float("nan"), 0.5)):
        with pytest.raises(UsageError, match="cannot be used: k1 ≥ 0 and 0 ≤ b ≤ 1"):
            made(tmp_path / "i", pieces(), parameters=wrong)


def test_long_words_and_counts_beyond_a_byte_are_kept_apart(tmp_path: Path) -> None:
    words = ["x" * 24, "x" * 25, "x" * 25 + "y"]
    index = made(tmp_path / "i", [TextPiece(word, "", word, "s") for word in words])
    assert [index.search(word, (), 9)[0][0].id for word in words] == words
    assert len(index.search(words[1], (), 9)) == 1
    many = made(tmp_path / "many", [TextPiece("a", "", "gout " * 999, "s"), TextPiece("b", "", "gout", "s")])
    assert len(many.search("gout", (), 9)) == 2


def _hang(folder: str) -> None:
    def endless(start: Place) -> Iterator[TextRecord]:
        yield from (TextRecord((0, row), (piece,)) for row, piece in enumerate(pieces(65)))
        time.sleep(600)

    build(Path(folder), "f", endless, sizes=Sizes(10, 3))


def test_an_index_goes_on_after_its_maker_was_killed_and_reads_nothing_twice(tmp_path: Path) -> None:
    folder = tmp_path / "i"
    maker = multiprocessing.get_context("fork").Process(target=_hang, args=(str(folder),))
    maker.start()
    partial = tmp_path / "i.partial"
    for _ in range(600):
        if (partial / "whole/000001").exists():
            break
        time.sleep(0.05)
    assert maker.pid is not None
    os.kill(maker.pid, signal.SIGKILL)
    maker.join()
    read: list[int] = []

    def records(start: Place) -> Iterator[TextRecord]:
        for row in range(start[1], 100):
            read.append(row)
            yield TextRecord((0, row), (pieces(100)[row],))

    index = SegmentRanking(TextIndex(build(folder, "f", records, sizes=Sizes(10, 3))).segments)
    assert read == list(range(60, 100))
    whole = made(tmp_path / "whole", pieces(100))
    assert np.array_equal(index.scores("marfan lens"), whole.scores("marfan lens"))
    assert TextIndex(folder).tally.kept == 100
    assert not partial.exists()


@pytest.mark.parametrize("step", range(1, 9))
def test_an_interruption_at_any_step_leaves_work_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    calls, rename = [0], os.rename

    def fails(*given: Any) -> None:
        calls[0] += 1
        if calls[0] == step:
            raise OSError(28, "No space left on device")
        rename(*given)

    monkeypatch.setattr(os, "rename", fails)
    sizes = Sizes(5, 2)
    try:
        made(tmp_path / "i", pieces(23), sizes)
    except StoreError as error:
        assert "free some disk space, and start it again" in str(error)
    monkeypatch.setattr(os, "rename", rename)
    index = made(tmp_path / "i", pieces(23), sizes)
    assert np.array_equal(index.scores("lens"), made(tmp_path / "whole", pieces(23)).scores("lens"))
    assert TextIndex(tmp_path / "i").tally.records == 23


def test_an_id_that_was_there_before_is_refused_across_shards_and_segments(tmp_path: Path) -> None:
    given = [TextPiece(f"d:{at % 7}", "", f"word{at}", "s") for at in range(21)]
    made(tmp_path / "i", given, Sizes(4, 2))
    tally = TextIndex(tmp_path / "i").tally
    assert (tally.records, tally.kept, tally.refused) == (21, 7, {"an id that was there before": 14})


def _make(folder: str) -> None:
    made(Path(folder), pieces(80), Sizes(10, 3))


def test_two_makers_at_once_make_one_sound_index(tmp_path: Path) -> None:
    folder = tmp_path / "i"
    makers = [multiprocessing.get_context("fork").Process(target=_make, args=(str(folder),)) for _ in range(2)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join(60)
    assert [maker.exitcode for maker in makers] == [0, 0]
    assert len(TextIndex(folder, "f")) == 80


def test_an_index_of_other_texts_is_stale_and_made_again(tmp_path: Path) -> None:
    folder = build(tmp_path / "i", "old", plain(lambda: iter(pieces())))
    with pytest.raises(StaleSnapshotError, match="made from other texts: make it again with `kgdx index`"):
        TextIndex(folder, "new")
    assert len(TextIndex(build(folder, "new", plain(lambda: iter(pieces(3)))), "new")) == 3


@pytest.mark.parametrize("name", [CARD, "000000/words.npy", "000000/tf.npy", "000000/texts.arrow", "000000/about.json"])
def test_a_damaged_index_is_one_line_and_made_again(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "i"
    made(folder, pieces())
    (folder / name).write_bytes((folder / name).read_bytes()[:-9])
    with pytest.raises(StaleSnapshotError) as error:
        TextIndex(folder)
    assert "damaged" in str(error.value) and "\n" not in str(error.value)
    assert len(made(folder, pieces())) == len(TEXTS)


@given(st.text(max_size=300), st.integers(1, 50))
def test_a_cut_text_loses_nothing_but_blanks(text: str, longest: int) -> None:
    parts = list(cut(text, longest))
    assert all(0 < len(part) <= longest for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


@pytest.fixture
def texts(tmp_path: Path) -> SearchableTexts:
    own = tmp_path / "own"
    own.mkdir()
    (own / "one.txt").write_text("Nickel causes dermatitis. The lens is spared.", encoding="utf-8")
    index_corpus(tmp_path / "home", Corpus.of(own, "guides"))
    graph = TextIndex(build(tmp_path / "graph", "f", plain(lambda: iter(pieces()))))
    return SearchableTexts(lambda: graph, tmp_path / "home")


def test_the_graphs_texts_and_a_users_folder_are_searched_together_or_by_tag(texts: SearchableTexts) -> None:
    assert texts.sources == ["guides", "s0", "s1"]
    assert {found[3] for found in texts.search("lens")} == {"guides", "s0", "s1"}
    ((id, title, text, source, score),) = texts.search("lens", ["guides"])
    assert (id, title, source) == ("guides:one.txt", "one", "guides")
    assert text.startswith("Nickel") and score > 0


@pytest.mark.parametrize(
    ("query", "sources", "said"),
    [("  ", (), "the query is empty"), ("lens", ("wiki",), "no source of texts is called 'wiki': one of guides, s0")],
)
def test_an_empty_query_and_an_unknown_source_are_one_line(
    texts: SearchableTexts, query: str, sources: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        texts.search(query, sources)


def test_irrelevant_pieces_share_no_word_and_are_drawn_by_the_seed(texts: SearchableTexts) -> None:
    drawn = [texts.unlike("lens marfan", (), 2, seed) for seed in (1, 1, 2, 3, 4)]
    assert drawn[0] == drawn[1] and len({str(each) for each in drawn}) > 1
    assert {found[0] for each in drawn for found in each} <= {"d:2", "d:3"}


def test_a_search_by_meaning_needs_the_encoder(texts: SearchableTexts) -> None:
    with pytest.raises(MissingExtraError, match="kgdx\\[encoder\\]"):
        texts.search("lens", dense=True)


class Letters:
    """An encoder by how often a text has each letter, which remembers what it was asked for."""

    name = "letters"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        counts = np.array([[text.lower().count(each) for each in "abcdefghijklmnopqrstuvwxyz"] for text in texts])
        return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)


def test_vectors_of_pieces_are_kept_and_none_of_a_question(tmp_path: Path) -> None:
    graph = TextIndex(build(tmp_path / "graph", "f", plain(lambda: iter(pieces()))))
    encoder, vectors = Letters(), tmp_path / "vectors"

    def opened(kept: Path | None) -> SearchableTexts:
        return SearchableTexts(lambda: graph, tmp_path / "home", encoder, kept)

    alone = opened(None).search("lens of marfan", dense=True)
    plainly = list(encoder.asked)
    first = opened(vectors).search("lens of marfan", dense=True)
    del encoder.asked[:]
    again = opened(vectors).search("lens of marfan", dense=True)
    assert alone == first == again and len(plainly) > 2
    assert encoder.asked == ["lens of marfan"]


def test_folders_and_the_graph_answer_as_one_index(texts: SearchableTexts, tmp_path: Path) -> None:
    everything = [
        *pieces(),
        TextPiece("guides:one.txt", "one", "Nickel causes dermatitis. The lens is spared.", "guides"),
    ]
    expected = made(tmp_path / "one", everything).search("lens of marfan", (), 9)
    found = texts.search("lens of marfan", limit=9)
    assert [(each[0], each[4]) for each in found] == [(piece.id, round(score, 4)) for piece, score in expected]


def test_a_folder_is_indexed_again_only_when_it_has_changed(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "a.md").write_text("One.")
    home, told = tmp_path / "home", list[str]()
    index_corpus(home, Corpus.of(own, "x"), told.append)
    index_corpus(home, Corpus.of(own, "x"), told.append)
    assert len(told) == 1
    (own / "b.md").write_text("Two. Three.")
    assert len(index_corpus(home, Corpus.of(own, "x"), told.append)) == 2


def test_what_cannot_be_indexed_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "a.md").write_text("One.")
    for folder, tag, said in (
        (tmp_path / "none", "x", "there is no folder"),
        (tmp_path / "empty", "x", "holds no text: files ending in .txt, .md, .html"),
        (tmp_path / "own", "../x", "a source cannot be called"),
        (tmp_path / "own", "abstracts", "a source cannot be called"),
    ):
        with pytest.raises(UsageError, match=said):
            index_corpus(tmp_path / "home", Corpus.of(folder, tag))


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        made(tmp_path / "file" / "i", pieces())


def test_a_card_says_what_the_index_was_made_from(tmp_path: Path) -> None:
    made(tmp_path / "i", pieces())
    card = json.loads((tmp_path / "i" / CARD).read_text())
    assert (card["schema"], card["fingerprint"], card["pieces"]) == ("kgdx.texts/2", "f", len(TEXTS))
    assert (card["k1"], card["b"]) == (1.5, 0.75)
    assert list(pieces_of("d", "Only a title", "", "s")) == [TextPiece("d", "Only a title", "", "s")]
