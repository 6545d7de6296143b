"""Questions that stand in a corpus word for word are found, all of them, and no others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from kgdx.terms.overlap import contained_in
from kgdx.terms.text_index import Sizes, TextIndex, build, plain
from kgdx.terms.text_ranking import SegmentRanking
from kgdx.terms.text_segment import TextPiece

QUESTION = (
    "A 23-year-old woman at 22 weeks gestation presents with burning upon urination. She states it started one day ago"
    " and has been worsening despite drinking more water. Which is the best treatment?"
)
CHINESE = "患者男性四十五岁突发胸痛伴大汗淋漓两小时心电图示导联抬高"


def made(folder: Path, texts: list[str], sizes: Sizes = Sizes()) -> SegmentRanking:  # noqa: B008
    pieces = [TextPiece(f"d:{at}", "", text, f"s{at % 2}") for at, text in enumerate(texts)]
    return SegmentRanking(TextIndex(build(folder, "f", plain(lambda: iter(pieces)), sizes=sizes)).segments)


def test_a_question_in_other_case_and_punctuation_is_found_with_its_piece(tmp_path: Path) -> None:
    ranking = made(
        tmp_path / "i",
        ["Burning upon urination.", f"Case 7. {QUESTION.upper().replace('.', ' –')} Nitrofurantoin.", "Gout hurts."],
    )
    found = contained_in(ranking, {"q1": QUESTION, "q2": "Which treatment is best for a woman of 23 years with gout?"})
    assert list(found) == ["q1"]
    assert (found["q1"].piece, found["q1"].source, found["q1"].share) == ("d:1", "s1", 1.0)
    assert contained_in(ranking, {"q1": QUESTION}, sources=["s0"]) == {}


def test_a_part_is_found_with_the_length_of_its_run(tmp_path: Path) -> None:
    ranking = made(tmp_path / "i", ["It started one day ago and has been worsening despite drinking more water, yes."])
    (found,) = contained_in(ranking, {"q": QUESTION}, words=8).values()
    assert 8 <= found.words < 20 and 0 < found.share < 1
    assert contained_in(ranking, {"q": QUESTION}, words=30) == {}


def test_chinese_is_compared_by_characters_wherever_its_sentence_begins(tmp_path: Path) -> None:
    ranking = made(tmp_path / "i", [f"病例:{CHINESE}急诊就诊。", "患者女性发热"])
    assert contained_in(ranking, {"q": f"请问{CHINESE},诊断?"})["q"].piece == "d:0"


@pytest.mark.parametrize("text", ["", "Which is true?", "???"])
def test_what_is_too_short_to_judge_is_not_found(tmp_path: Path, text: str) -> None:
    assert contained_in(made(tmp_path / "i", [text or "x", "Which is true?"]), {"q": text}) == {}


WORDS = st.lists(st.sampled_from("ab cd ef gh".split()), max_size=14)  # noqa: SIM905


@examples(30)
@given(st.lists(WORDS, min_size=1, max_size=4), WORDS.filter(lambda words: len(words) >= 6), st.integers(6, 8))
def test_the_check_finds_what_a_plain_comparison_finds(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[str]], asked: list[str], words: int
) -> None:
    ranking = made(tmp_path_factory.mktemp("texts") / "i", [" ".join(text) for text in texts], Sizes(2, 1))

    def shared(text: list[str]) -> int:
        lengths = np.zeros((len(asked) + 1, len(text) + 1), int)
        for at, left in enumerate(asked):
            for other, right in enumerate(text):
                lengths[at + 1, other + 1] = lengths[at, other] + 1 if left == right else 0
        return int(lengths.max())

    longest = max(map(shared, texts))
    found = contained_in(ranking, {"q": " ".join(asked)}, words)
    if longest >= min(words, len(asked)):
        assert found["q"].words == longest
    else:
        assert found == {}
