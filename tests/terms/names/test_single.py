"""The forms of one name are those that a column of names gets."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from kgdx.terms.names.entity_names import variants, with_forms
from kgdx.terms.normalise import bare, form

PIECES = st.sampled_from(
    [
        "Type",
        "II",
        "type",
        "2",
        "IIB",
        "of",
        "the",
        "and",
        "tumours",
        "Marfan's",
        "syndrome",
        "X-linked",
        "mental",
        "retardation",
        "hearing",
        "loss",
        "Ménière",
        "β",
        "α-1",
        "In",
        "deficiency,",
        "without",
        "一型",
        "二型",
        "糖尿病",
        "综合症",
        "症候群",
        "征候群",
        "癫癎",
        "的",
        "粘",
        "Ⅱ",
        "型",
        "iv",
        "（ACH）",
        "(DMD)",
        ";",
        "ACH",
        "貧血",
        "急性",
        "左",
        "_",
        "+",
        "<5%",
        "'",
        "’s",
    ]
)
LETTERS = st.text(st.characters(max_codepoint=0x24F, exclude_categories=("Cc", "Cs", "No")), max_size=12)
HAN = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5), max_size=6)
NAMES = st.lists(st.one_of(PIECES, LETTERS, HAN), max_size=6).flatmap(
    lambda parts: st.sampled_from(["", " "]).map(lambda between: between.join(parts))
)


@examples(300)
@given(st.lists(NAMES, min_size=1, max_size=8))
def test_one_name_has_the_forms_that_a_column_gives_it(names: list[str]) -> None:
    column = with_forms(pl.DataFrame({"text": names}, schema={"text": pl.String}), diseases=True)
    found = column.select("text", "folded", "key", "bag", "turned", "mark", "han").rows()
    singly = [(name, each) for name in names if (each := form(name)).folded]
    assert [(name, f.folded, f.key, f.bag, f.turned, f.mark, f.han) for name, f in singly] == found


@given(NAMES)
def test_a_name_loses_the_abbreviation_that_a_column_takes_off(name: str) -> None:
    without = variants(pl.DataFrame({"text": [name]}, schema={"text": pl.String}))["text"].to_list()[1:]
    assert without in ([], [bare(name)])
    assert without or bare(name) == name or len(bare(name)) < 2
