"""Plans are read from whatever a model writes, and nothing of them is trusted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.actions import ACTIONS, GetDrug, Resolved
from kgdx.errors import UsageError
from kgdx.llm.structured import parse
from kgdx.policies.planner import WrittenPlan, action_key, document, judge, plan_schema, shown

DRUG = {"action": "get_drug", "diseases": ["flu"]}
PLAN = json.dumps({"thought": "drugs", "actions": [DRUG]})


@pytest.mark.parametrize(
    "text",
    [
        PLAN,
        json.dumps([DRUG]),
        json.dumps(DRUG),
        json.dumps({"actions": DRUG}),
        f"Sure! Here is the plan:\n```json\n{PLAN}\n```\nAnything else?",
        f"I think [1] that {json.dumps([DRUG])} will do.",
        PLAN.replace('"', "'"),
        PLAN.replace("]}", "],}"),
        json.dumps({"actions": [DRUG, {"action": "get_test", "diseases": ["flu"]}]})[:-30],
    ],
)
def test_a_plan_is_read_however_it_is_wrapped(text: str) -> None:
    assert document(parse(text, WrittenPlan)[0].items[0]) == DRUG


@pytest.mark.parametrize("text", ["[]", '{"actions": []}', '{"thought": "enough", "actions": []}', "```json\n[]\n```"])
def test_an_empty_list_is_a_plan(text: str) -> None:
    assert parse(text, WrittenPlan)[0].items == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Look up the drugs first.",
        "null",
        "3",
        '{"plan": "look up"}',
        '["get_drug"]',
        "[" * 5000,
        '{"a":' * 60,
        "x" * 200_001,
    ],
)
def test_what_is_no_plan_is_said_without_its_words(text: str) -> None:
    with pytest.raises(ValueError, match=r"no JSON|nested|longer") as caught:
        parse(text, WrittenPlan)[0]
    assert "drug" not in str(caught.value)


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        reading = parse(text, WrittenPlan)[0]
    except ValueError:
        return
    judge(reading.items, ACTIONS, (), (), 8)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
named = st.fixed_dictionaries(
    {"action": st.sampled_from([*ACTIONS, "GET_DRUG", "x"])}, optional={"diseases": json_values, "limit": json_values}
)


@given(st.lists(json_values | named, max_size=12))
def test_any_json_is_judged(items: list[Any]) -> None:
    actions, refused = judge(items, ACTIONS, (), (), 4)
    assert len(actions) <= 4
    assert len(refused) <= 5
    assert len({action_key(action) for action in actions}) == len(actions)


@pytest.mark.parametrize(
    "item",
    [
        {"name": "GET_DRUG", "arguments": {"diseases": ["flu"]}},
        {"tool": "get_drugs", "parameters": {"diseases": ["flu"]}},
        {"type": "function", "function": {"name": "get_drug", "arguments": '{"diseases": ["flu"]}'}},
        {"action": "Get_Drug", "diseases": ["flu"]},
    ],
)
def test_fields_are_found_where_models_put_them(item: dict[str, Any]) -> None:
    actions, refused = judge([item], ACTIONS, (), (), 8)
    assert [type(action) for action in actions] == [GetDrug] or refused


def test_a_function_call_is_an_action() -> None:
    assert document({"function": {"name": "get_drug", "arguments": '{"diseases": ["flu"]}'}}) == DRUG


@pytest.mark.parametrize("item", ["get_drug", 3, None, {"action": "get_drug", "arguments": "flu"}])
def test_an_item_that_is_no_action_is_refused(item: Any) -> None:
    with pytest.raises(UsageError):
        document(item)


def test_ten_thousand_actions_are_cut_off_and_counted() -> None:
    items = [{"action": "get_drug", "diseases": [f"d{number}"]} for number in range(10_000)]
    actions, refused = judge(items, ACTIONS, (), (), 8)
    assert len(actions) == 8
    assert refused == ("9,992 of 10,000 actions are left out: at most 8 a round",)


def test_ten_thousand_wrong_actions_are_not_told_one_by_one() -> None:
    actions, refused = judge([{"action": f"x{number}"} for number in range(10_000)], ACTIONS, (), (), 8)
    assert (actions, len(refused)) == ((), 9)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"action": "drop_all"}, "unknown action 'drop_all'"),
        ({"action": "get_drug"}, "action get_drug: diseases"),
        ({"action": "get_drug", "diseases": ["d"] * 2 + [str(n) for n in range(5000)]}, "action get_drug: diseases"),
        ({"action": "get_drug", "diseases": ["flu"], "cypher": "MATCH (n) DETACH DELETE n"}, "action get_drug: cypher"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(item: dict[str, Any], reason: str) -> None:
    _, (refused,) = judge([item], ACTIONS, (), (), 8)
    assert refused.startswith(reason)
    assert len(refused) <= 300


def test_the_same_action_by_another_name_of_the_disease_is_the_same() -> None:
    known = [Resolved("flu", ids=("D:1", "D:2")), Resolved("Influenza", ids=("D:2", "D:1"))]
    before = [GetDrug(diseases=("flu",))]
    items = [
        {"action": "get_drug", "diseases": ["influenza"]},
        {"action": "get_drug", "diseases": ["influenza"], "limit": 3},
    ]
    actions, refused = judge(items, ACTIONS, before, known, 8)
    assert [action.parameters()["limit"] for action in actions] == [3]
    assert "run already" in refused[0]


def test_the_schema_holds_every_action_once_with_the_fields_that_it_is_planned_with() -> None:
    forms = plan_schema(ACTIONS)["properties"]["actions"]["items"]["anyOf"]
    assert sorted(name for form in forms for name in form["properties"]["action"]["enum"]) == sorted(ACTIONS)
    for form in forms:
        for kind in (ACTIONS[name] for name in form["properties"]["action"]["enum"]):
            required = {name for name, field in kind.model_fields.items() if field.is_required()}
            assert {"action"} | required <= set(form["required"]) <= {"action", *kind.model_fields}
        assert "$ref" not in json.dumps(form)


def test_an_action_is_shown_by_what_is_not_usual_of_it() -> None:
    assert shown(GetDrug(diseases=("百日咳",))) == 'get_drug {"diseases": ["百日咳"]}'


half = st.text(alphabet=st.sampled_from(["\ud800", "\udfff", "a", "咳", "\x1b", "\u202e"]), max_size=6)


@given(half, half)
def test_half_characters_in_a_plan_do_not_reach_the_graph(thought: str, name: str) -> None:
    written = json.dumps({"thought": thought, "actions": [{"action": "get_drug", "diseases": [name], name: name}]})
    reading = parse(written, WrittenPlan)[0]
    actions, refused = judge(reading.items, ACTIONS, (), (), 8)
    for text in (reading.thought, json.dumps(reading.items, ensure_ascii=False), *refused):
        text.encode("utf-8")
    assert all(str(action.parameters()).encode("utf-8") for action in actions)
