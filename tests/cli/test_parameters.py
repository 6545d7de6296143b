from __future__ import annotations

import pytest

from kgdx.cli.template_commands import parse
from kgdx.errors import UsageError

DECLARED = {"id": "string", "limit": "integer?", "share": "float", "all": "boolean", "ids": "strings", "rows": "rows"}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("id=OMIM:1", "OMIM:1"),
        ("id=a=b", "a=b"),
        ("id='; MATCH (n) DETACH DELETE n //", "'; MATCH (n) DETACH DELETE n //"),
        ("limit=10", 10),
        ("share=0.5", 0.5),
        ("all=True", True),
        ("ids=a, b,,c", ["a", "b", "c"]),
        ('ids=["a,b", "c"]', ["a,b", "c"]),
        ("ids=", []),
        ('rows=[{"id": "x"}]', [{"id": "x"}]),
    ],
)
def test_values_take_the_declared_type(word: str, value: object) -> None:
    assert parse("t", DECLARED, [word]) == {word.split("=")[0]: value}


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("OMIM:1", "is not NAME=VALUE: as in `kgdx run t id=…"),
        ("=1", "is not NAME=VALUE"),
        ("limit=ten", "a whole number"),
        ("share=x", "a number"),
        ("all=1", "true or false"),
        ("ids=[1", "a,b,c"),
        ("rows={}", "a JSON array"),
    ],
)
def test_what_does_not_fit_says_what_would(word: str, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse("t", DECLARED, [word])
    assert says in str(raised.value)


def test_a_parameter_is_given_once() -> None:
    with pytest.raises(UsageError, match="given twice"):
        parse("t", DECLARED, ["id=a", "id=b"])


def test_an_unknown_parameter_is_left_for_the_template_to_refuse() -> None:
    assert parse("t", DECLARED, ["lmit=3"]) == {"lmit": "3"}
