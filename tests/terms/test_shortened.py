"""Which names lose a word, and which word."""

from __future__ import annotations

from kgdx.terms.dictionary import Name, shortened, sum_hashes, word_hash
from kgdx.terms.tokens import scan


def _name(term: int, label: str, rank: int = 0) -> Name:
    folded, _, _, partings = scan(label)
    return Name(term, 0, rank, folded, partings, [word_hash(word) for word in folded])


def _key(words: str) -> int:
    return sum_hashes([word_hash(word) for word in words.split()])


COMMON = [
    _name(10 + number, label) for number, label in enumerate(["Jaw pain", "Jaw cyst", "Jaw tumour", "Jaw clicking"])
]


def _rests(*names: Name) -> set[int]:
    names = (*names, *COMMON)
    taken = {sum_hashes(name.hashes) for name in names}
    return {key for key, _ in shortened(names, taken)}


def test_a_word_is_left_out_beside_a_rare_one() -> None:
    assert _rests(_name(0, "Odontogenic keratocysts of the jaw")) >= {_key("odontogenic keratocyst")}


def test_the_described_noun_stays() -> None:
    assert _key("odontogenic jaw") not in _rests(_name(0, "Odontogenic keratocysts of the jaw"))
    assert _key("conspicuously happy") not in _rests(_name(0, "Conspicuously happy disposition"))


def test_a_word_that_tells_what_is_wrong_stays() -> None:
    assert _key("collecting system") not in _rests(_name(0, "Duplicated collecting system"))
    assert _key("palmitate level") not in _rests(_name(0, "Elevated palmitate level"))
    assert _key("startle response") not in _rests(_name(0, "Exaggerated startle response"))


def test_a_rest_of_two_terms_or_that_is_a_name_is_none() -> None:
    rest = _key("zygomatic hypertrichosis")
    assert rest in _rests(_name(0, "Zygomatic temporal hypertrichosis"))
    assert rest not in _rests(
        _name(0, "Zygomatic temporal hypertrichosis"), _name(1, "Zygomatic frontal hypertrichosis")
    )
    assert rest not in _rests(_name(0, "Zygomatic temporal hypertrichosis"), _name(1, "Zygomatic hypertrichosis"))


def test_only_exact_names_are_shortened() -> None:
    assert not _rests(_name(0, "Odontogenic keratocysts of the jaw", rank=3))
