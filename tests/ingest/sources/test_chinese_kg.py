"""medical.json: every field of a disease, values of any shape, junk that is named and set apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from kgdx.errors import SourceError
from kgdx.ingest.manifest import manifest
from kgdx.ingest.records import Records, minted
from kgdx.ingest.sources import read
from kgdx.ingest.sources.chinese_kg import english_names

Parse = Callable[[str, Path], Records]
Write = Callable[[str, str | bytes], Path]

WHOOPING = {
    "_id": {"$oid": "5bb578b6831b973a137e3ee7"},
    "name": "百日咳",
    "desc": "百日咳(pertussis，whooping cough)是由百日咳杆菌所致的急性呼吸道传染病。\r\n\r\n病程较长。",
    "category": ["疾病百科", "儿科", "小儿内科"],
    "prevent": "1、控制传染源。\n2、切断传播途径。",
    "cause": "<p>病原菌是鲍特菌属中的百日咳杆菌&amp;副百日咳杆菌</p>",
    "symptom": ["吸气时有蝉鸣音", "痉挛性咳嗽", "胸闷"],
    "yibao_status": "否",
    "get_prob": "0.5%",
    "easy_get": "多见于小儿",
    "get_way": "呼吸道传播",
    "acompany": ["肺不张"],
    "cure_department": ["儿科", "小儿内科"],
    "cure_way": ["药物治疗", "支持性治疗"],
    "cure_lasttime": "1-2个月",
    "cured_prob": "98%",
    "cost_money": "根据不同医院，收费标准不一致，市三甲医院约（1000-4000元）",
    "check": ["耳、鼻、咽拭子细菌培养", "周围血白细胞计数及分类检验"],
    "recommand_drug": ["琥乙红霉素片"],
    "common_drug": ["穿心莲内酯片", "百咳静糖浆"],
    "drug_detail": ["惠普森穿心莲内酯片(穿心莲内酯片)", "北京同仁堂百咳静糖浆(百咳静糖浆)"],
    "do_eat": ["南瓜子仁", "圆白菜"],
    "not_eat": ["螃蟹", "海蟹"],
    "recommand_eat": ["清蒸鸡蛋羹"],
}


def lines(*documents: object) -> str:
    return "\n".join(json.dumps(each, ensure_ascii=False) for each in documents)


def test_every_field_of_the_widely_used_file_is_kept(parse: Parse, write: Write) -> None:
    records = parse("chinese_kg", write("medical.json", lines(WHOOPING)))
    (disease,) = records.frames["disease"].drop("_line").to_dicts()
    assert disease == {
        "name": "百日咳",
        "synonyms": ["pertussis", "whooping cough"],
        "definition": "百日咳(pertussis，whooping cough)是由百日咳杆菌所致的急性呼吸道传染病。\n病程较长。",
        "cause": "病原菌是鲍特菌属中的百日咳杆菌&副百日咳杆菌",
        "prevention": "1、控制传染源。\n2、切断传播途径。",
        "transmission": "呼吸道传播",
        "susceptible": "多见于小儿",
        "incidence": "0.5%",
        "treatment_duration": "1-2个月",
        "cure_rate": "98%",
        "treatment_cost": "根据不同医院，收费标准不一致，市三甲医院约（1000-4000元）",
        "categories": ["疾病百科", "儿科", "小儿内科"],
        "departments": ["儿科", "小儿内科"],
        "foods_good": ["南瓜子仁", "圆白菜"],
        "foods_bad": ["螃蟹", "海蟹"],
        "dishes": ["清蒸鸡蛋羹"],
        "insured": False,
    }
    assert records.frames["symptom"]["name"].to_list() == ["吸气时有蝉鸣音", "痉挛性咳嗽", "胸闷"]
    assert records.frames["test"].height == records.frames["cure"].height == 2
    assert records.frames["comorbidity"]["name"].to_list() == ["肺不张"]
    assert records.rejects.is_empty()
    assert records.warnings == ()


def test_a_drug_says_which_field_names_it_and_its_products(parse: Parse, write: Write) -> None:
    frames = parse("chinese_kg", write("m.json", lines(WHOOPING))).frames
    assert frames["drug"].select("name", "reference").rows() == [
        ("穿心莲内酯片", "common_drug"),
        ("百咳静糖浆", "common_drug"),
        ("琥乙红霉素片", "recommand_drug"),
        ("穿心莲内酯片", "drug_detail"),
        ("百咳静糖浆", "drug_detail"),
    ]
    assert dict(frames["medicine"].select("name", "products").rows()) == {
        "穿心莲内酯片": ["惠普森穿心莲内酯片(穿心莲内酯片)"],
        "百咳静糖浆": ["北京同仁堂百咳静糖浆(百咳静糖浆)"],
        "琥乙红霉素片": [],
    }


def test_a_text_stands_for_a_list_and_a_list_for_a_text(parse: Parse, write: Write) -> None:
    records = parse(
        "chinese_kg",
        write(
            "m.json",
            lines({"name": "感冒", "symptom": "发热、咳嗽，  流涕", "desc": ["一。", "二。"], "cost_money": 200}),
        ),
    )
    assert records.frames["symptom"]["name"].to_list() == ["发热", "咳嗽", "流涕"]
    assert records.frames["disease"].select("definition", "treatment_cost").row(0) == ("一。\n二。", "200")


def test_a_copy_that_somebody_tried_has_the_name_of_the_disease(parse: Parse, write: Write) -> None:
    given = [{"name": "肺不张"}, {"name": "肺不张-测试"}]
    assert parse("chinese_kg", write("a.json", lines(*given))).frames["disease"]["name"].to_list() == ["肺不张"] * 2


def test_an_array_gives_what_lines_give(parse: Parse, write: Write) -> None:
    other = {"name": "肺不张", "symptom": ["气促"]}
    apart = parse("chinese_kg", write("a.json", lines(WHOOPING, other)))
    together = parse("chinese_kg", write("b.json", json.dumps([WHOOPING, other], indent=1)))
    marked = parse("chinese_kg", write("c.json", "\ufeff" + lines(WHOOPING, other)))
    for name, frame in apart.frames.items():
        assert together.frames[name].equals(frame)
        assert marked.frames[name].equals(frame)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"symptom": ["发热", "："]}, "a member of symptom cannot be a name: it has no word"),
        ({"symptom": ["无运动或感觉障..."]}, "a member of symptom cannot be a name: it is cut off"),
        ({"symptom": ["咳" * 400]}, "a member of symptom cannot be a name: it has 400 characters"),
        ({"check": ["血常规", 7]}, "a member of check is a number, not text"),
        ({"check": {"a": "b"}}, "check is an object, not a list"),
        ({"desc": {"a": "b"}}, "desc is an object, not text"),
        ({"desc": "长" * 1_000_001}, "desc has 1,000,001 characters"),
        ({"yibao_status": "也许"}, "yibao_status is '也许', not 是 or 否"),
    ],
)
def test_what_cannot_be_used_is_refused_and_the_disease_stays(
    parse: Parse, write: Write, value: dict[str, Any], reason: str
) -> None:
    records = parse("chinese_kg", write("m.json", lines({"name": "感冒"}, {"name": "流感", **value})))
    assert records.frames["disease"]["name"].to_list() == ["感冒", "流感"]
    assert records.rejects.select("line", "reason").rows() == [(2, reason)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"name": "流感", "symptom": ["发', "it is not valid JSON"),
        ('{"name": "流感", "name": "感冒"}', "it has the key 'name' twice"),
        ('{"symptom": ["发热"]}', "it has no name"),
        ('{"name": ["流感"]}', "its name is a list, not text"),
        ('{"name": "\\u0000"}', "its name cannot be one: it has no word"),
        ('["流感"]', "it is not a JSON object"),
        ("[" * 100_000, "it is nested too deeply"),
        ('{"name": "流\udcff感"}', "its name cannot be one: it holds bytes that are no text in UTF-8"),
    ],
)
def test_a_damaged_line_is_refused_with_its_number(parse: Parse, write: Write, line: str, reason: str) -> None:
    content = f'{{"name": "感冒"}}\n\n{line}\n{{"name": "麻疹"}}\n'.encode("utf-8", "surrogateescape")
    records = parse("chinese_kg", write("m.json", content))
    assert records.frames["disease"]["name"].to_list() == ["感冒", "麻疹"]
    ((number, said),) = records.rejects.select("line", "reason").rows()
    assert number == 3
    assert said.startswith(reason)


def test_chinese_that_was_read_in_the_wrong_encoding_is_put_right(parse: Parse, write: Write) -> None:
    mangled = "产后小腹坠痛".encode("gbk").decode("latin-1")
    records = parse("chinese_kg", write("m.json", lines({"name": "产后病", "symptom": [mangled, "ñandú"]})))
    assert records.frames["symptom"]["name"].to_list() == ["产后小腹坠痛", "ñandú"]


def test_unread_fields_are_named(parse: Parse, write: Write) -> None:
    records = parse("chinese_kg", write("m.json", lines(WHOOPING | {"nursing": "多喝水"})))
    assert records.warnings == ("fields that are not read: nursing",)


@pytest.mark.parametrize("content", ["", "[]", "[1]", "{", "text", "\x00\x01\x02" * 99])
def test_a_file_without_a_record_is_refused(parse: Parse, write: Write, content: str) -> None:
    with pytest.raises(SourceError):
        parse("chinese_kg", write("m.json", content))


def test_a_comorbidity_of_the_file_is_its_disease_and_another_one_a_new_node(
    check_files: Callable[..., Any], rows: Callable[[Any, str], list[dict[str, Any]]], write: Write
) -> None:
    content = lines(WHOOPING, {"name": " 肺不张", "acompany": ["百日咳", "肺炎"], "desc": "肺的疾病"})
    checked = check_files("hp", chinese_kg=write("m.json", content))
    diseases = {row["name"]: row for row in rows(checked, "Disease")}
    assert set(diseases) == {"百日咳", "肺不张", "肺炎"}
    assert diseases["肺不张"]["definition"] == "肺的疾病"
    assert diseases["肺炎"]["name_zh"] == "肺炎"
    joined = {(row["start"], row["end"]) for row in rows(checked, "HAS_COMORBIDITY")}
    assert (minted("chinese_kg", "Disease", "百日咳"), diseases["肺不张"]["id"]) in joined
    counts = checked.counts["chinese_kg"]
    assert counts.read == counts.loaded + counts.merged + counts.quarantined


@pytest.mark.parametrize(
    ("definition", "names"),
    [
        ("麻风(leprosy)是由麻风杆菌引起的。", ["leprosy"]),
        ("肝肾综合征（hepatorenal syndrome，HRS）是指", ["hepatorenal syndrome", "HRS"]),
        ("感冒是病。流感(influenza)是另一种。", []),
        ("多见于5岁以下(约占80%)的小儿", []),
        ("", []),
    ],
)
def test_foreign_names_are_those_of_the_first_brackets(definition: str, names: list[str]) -> None:
    assert english_names(definition) == names


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@examples(60)
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["name", "desc", "symptom", "check", "drug_detail", "category"]), JSON),
        min_size=1,
    )
)
def test_no_json_breaks_the_reader_and_no_record_is_lost(tmp_path: Path, documents: list[dict[str, Any]]) -> None:
    path = tmp_path / "m.json"
    path.write_text("\n".join(json.dumps(each) for each in documents), encoding="utf-8")
    try:
        records = read(path, manifest("chinese_kg"))
    except SourceError:
        return
    seen = set(records.frames["disease"]["_line"]) | set(records.rejects["line"])
    assert seen == set(range(1, len(documents) + 1))


def test_the_real_file_has_the_counts_that_its_manifest_expects(parse: Parse, shared_data: Path) -> None:
    records = parse("chinese_kg", shared_data / "chinese-disease-kg.jsonl.gz")
    heights = {name: frame.height for name, frame in records.frames.items()}
    assert heights == {
        "disease": 8792,
        "symptom": 57_311,
        "test": 39_211,
        "cure": 20_918,
        "comorbidity": 19_195,
        "drug": 13_479,
        "medicine": 1204,
    }
    assert records.rejects.height == 1089
    assert records.warnings == ()
