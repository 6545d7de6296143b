"""Mapping files: what is one, what a hostile one cannot do; kgdx finds the package."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from medical import MAPPING

import kgdx
from kgdx.actions.graph_source import MAPPED
from kgdx.errors import ConfigError, StoreError, TemplateError, UsageError
from kgdx.graph.templates import templates
from kgdx.schema import load_schema
from kgdx_foreign.commands import MappingCommands
from kgdx_foreign.cypher_tokens import UnreadableError, clauses, tokens, written
from kgdx_foreign.database_mapping import LARGEST, parse_mapping, read_mapping
from kgdx_foreign.mapped_source import ForeignSource
from kgdx_foreign.mapped_store import ForeignStore, Translation
from kgdx_foreign.template_rewrite import UnmappedError, quoted, rewrite

HEAD = "mapping: 1\nsource: mine\n"

DISEASE = "nodes:\n  Disease: {label: Disease, key: name}\n"

GENES = "nodes: {Disease: {label: D, key: k}, Gene: {label: G, key: k}, Drug: {label: M, key: k}}\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "is no mapping: it is empty"),
        ("[1, 2]", "is no mapping: it has no keys `mapping`"),
        ("{", "no YAML"),
        ("a: &x {b: 1}\nc: *x", "refers to a part of itself"),
        (HEAD + "nodes: {}", "nodes: "),
        (HEAD + "nodes: {Sickness: {label: D, key: k}}", "no such class"),
        (HEAD + "nodes: {Disease: {label: D}}", "nodes.Disease.key"),
        (HEAD + "nodes: {Disease: {label: D, key: k, cypher: x}}", "nodes.Disease.cypher"),
        (HEAD + "nodes: {Disease: {label: D, key: k, properties: {colour: c}}}", "no property colour"),
        (HEAD + "nodes: {Disease: {label: D, key: k, properties: {id: c}}}", "it is the key"),
        (HEAD + "nodes: {Disease: {label: [], key: k}}", "nodes.Disease.label"),
        (HEAD + DISEASE + "relations: {CURES: x}", "no such relation"),
        (HEAD + DISEASE + "relations: {HAS_SYMPTOM: x}", "`nodes` lacks one of them"),
        (HEAD + DISEASE + "relations: {HAS_SYMPTOM: {}}", "either `type` or `list`"),
        (HEAD + DISEASE + "relations: {HAS_SYMPTOM: {type: x, list: y}}", "either `type` or `list`"),
        (HEAD + DISEASE + "relations: {HAS_SYMPTOM: {list: y, reversed: true}}", "no direction"),
        (HEAD + DISEASE + "relations: {HAS_COMORBIDITY: {list: y}}", "have no nodes of their own"),
        (HEAD + DISEASE + "relations: {HAS_COMORBIDITY: {type: x, properties: {colour: y}}}", "no property colour"),
        (HEAD.replace("mine", "'x) DETACH DELETE (n'") + DISEASE, "source"),
        (HEAD.replace("1", "2") + DISEASE, "mapping"),
        ("[" * 5_000, "YAML"),
    ],
)
def test_a_file_that_is_none_says_where(text: str, fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_mapping(text)
    assert fault in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "large.yaml").write_bytes(b"#" * (LARGEST + 1))
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    for name, fault in (("none.yaml", "cannot be read"), ("large.yaml", "is larger than"), ("bytes.yaml", "cannot be")):
        with pytest.raises(ConfigError, match=fault):
            read_mapping(tmp_path / name)


@pytest.mark.parametrize("name", ["a\\u0060b", "\\", "a\nb", "a\x00b", "", "   ", "x" * 201, "\u202ename", "a\u2028b"])
def test_a_name_that_could_end_its_quotation_is_refused(name: str) -> None:
    document = {"label": name}
    for place in ("label", "key"):
        node = {"label": "D", "key": "k"} | {place: document["label"]}
        with pytest.raises(ConfigError, match=f"nodes.Disease.{place}"):
            parse_mapping(f'{{"mapping": 1, "source": "mine", "nodes": {{"Disease": {json.dumps(node)}}}}}')


printable = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters="\\"), min_size=1, max_size=30)

printable = printable.filter(str.isprintable)

hostile = st.one_of(
    printable, st.sampled_from(["`", "``", "x`) DETACH DELETE (n) //", "a` = 1 OR `b", "$x", "'", "//"])
)


@given(label=hostile, key=hostile, type=hostile, property=hostile)
def test_names_stay_within_their_quotation_whatever_they_hold(label: str, key: str, type: str, property: str) -> None:
    document = {
        "mapping": 1,
        "source": "mine",
        "nodes": {
            "Disease": {"label": label, "key": key, "properties": {"definition": property}},
            "Symptom": {"label": label, "key": key},
        },
        "relations": {"HAS_SYMPTOM": type},
    }
    mapping = parse_mapping(json.dumps(document, ensure_ascii=False))
    plain = parse_mapping(
        HEAD + "nodes: {Disease: {label: L, key: K, properties: {definition: P}}, Symptom: {label: L, key: K}}\n"
        "relations: {HAS_SYMPTOM: T}"
    )
    for name in ("symptoms_of_diseases", "infer_diseases_by_symptoms", "descriptions_of_diseases"):
        template = templates("mapped")[name].text
        text, theirs = (rewrite(template, each, load_schema()) for each in (plain, mapping))
        names = {"`L`": quoted(label), "`K`": quoted(key), "`T`": quoted(type), "`P`": quoted(property)}
        assert theirs.text == re.sub("`[LKTP]`", lambda found, names=names: names[found[0]], text.text)
        assert theirs.parameters == text.parameters


def in_names(text: str, mapping: str) -> str:
    return rewrite(text, parse_mapping(mapping), load_schema()).text


def test_directions_turn_where_the_mapping_says_so() -> None:
    turned = HEAD + GENES + "relations: {ASSOCIATED_GENE: {type: t, reversed: true}}"
    for ours, theirs in (("-[r:ASSOCIATED_GENE]->", "<-[r:`t`]-"), ("-[:ASSOCIATED_GENE]-", "-[:`t`]-")):
        text = f"MATCH (d:Disease){ours}(x:Gene) WITH d.id AS id RETURN id"
        assert f"(d:`D`){theirs}(x:`G`)" in in_names(text, turned)
    text = "MATCH (x:Gene)<-[r:ASSOCIATED_GENE]-(d:Disease) WITH d.id AS id RETURN id"
    assert "(x:`G`)-[r:`t`]->(d:`D`)" in in_names(text, turned)


def test_types_that_point_to_different_sides_are_told_apart_by_their_ends() -> None:
    mixed = HEAD + GENES + "relations: {ASSOCIATED_GENE: {type: a, reversed: true}, DISEASE_PROTEIN: {type: b}}"
    text = "MATCH (d:Disease)-[r:ASSOCIATED_GENE|DISEASE_PROTEIN]->(x:Gene) WITH type(r) AS t RETURN t"
    found = rewrite(text, parse_mapping(mixed), load_schema())
    assert "(d:`D`)-[r:`a`|`b`]-(x:`G`)" in found.text
    assert "CASE type(r) WHEN $kgdx_0 THEN $kgdx_1 WHEN $kgdx_2 THEN $kgdx_3 END AS t" in found.text
    assert list(found.parameters.values()) == ["a", "ASSOCIATED_GENE", "b", "DISEASE_PROTEIN"]


def test_what_the_mapping_lacks_is_absent() -> None:
    text = "MATCH (d:Disease) WHERE d.id IN $diseases RETURN d.id AS id, d.definition AS text, d.source AS source"
    assert in_names(text, HEAD + DISEASE) == (
        "MATCH (d:`Disease`)\nWHERE d.`name` IN $diseases\n"
        "RETURN DISTINCT d.`name` AS id, null AS text, $kgdx_0 AS source"
    )
    with pytest.raises(UnmappedError):
        in_names("MATCH (x:Gene) WITH x.id AS id RETURN id", HEAD + DISEASE)


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (d:Disease) RETURN d",
        "MATCH (d:Disease) RETURN collect(d) AS ds",
        "MATCH (d:Disease) RETURN labels(d) AS l",
        "MATCH (d:Disease) RETURN properties(d) AS p",
        "MATCH (d:Disease) RETURN d {.id} AS p",
        "MATCH path = (d:Disease) RETURN path",
        "MATCH (d) RETURN d.id AS id",
        "MATCH (d:Disease) SET d.name = 'x'",
        "MATCH (d:Disease) DETACH DELETE d",
        "CALL db.labels()",
        "OPTIONAL MATCH (d:Disease) RETURN d.id AS id",
        "MATCH (d:Disease) WHERE EXISTS { MATCH (d) } RETURN d.id AS id",
        "MATCH (d:Disease)-[r]->(x:Disease) RETURN d.id AS id",
        "MATCH (d:Disease) RETURN d.id AS id; MATCH (n) RETURN n",
        "MATCH (d:Disease) WITH 1 AS d RETURN d",
    ],
)
def test_what_is_not_understood_to_the_last_token_is_refused(text: str) -> None:
    with pytest.raises(UnreadableError):
        in_names(text, HEAD + DISEASE + "relations: {HAS_COMORBIDITY: x}")


@given(st.text(max_size=60))
def test_any_text_is_taken_apart_or_refused(text: str) -> None:
    try:
        parts = tokens(text)
    except UnreadableError:
        return
    assert tokens(written(parts)) == parts
    try:
        clauses(text)
    except UnreadableError:
        return


@pytest.mark.parametrize("name", sorted(name for name, each in templates("mapped").items() if each.kind == "read"))
def test_a_template_is_taken_apart_without_a_loss(name: str) -> None:
    text = "\n".join(line.split(" //")[0] for line in templates("mapped")[name].text.splitlines())
    assert "".join(token.text for token in tokens(text)) == "".join(text.split())


def test_all_ten_actions_are_answered_by_the_well_known_shape() -> None:
    translation = Translation(parse_mapping(MAPPING))
    found = translation.all()
    for what in ("symptoms", "tests", "drugs", "cures", "comorbidities"):
        assert f"{what}_of_diseases" in found and f"infer_diseases_by_{what}" in found
    assert translation.of(templates("mapped")["genes_of_diseases"]) is None
    with pytest.raises(TemplateError, match="evidence_supporting does not run on a mapped database"):
        translation.of(templates("mapped")["evidence_supporting"])


class Quiet:
    """Stands in for a server that has nothing."""

    class access:
        uri = "bolt://db"

    def read(self, text: str, parameters: object) -> list[object]:
        return []

    def close(self) -> None:
        """Nothing to close."""


def test_nothing_is_ever_written() -> None:
    store = ForeignStore(Quiet(), parse_mapping(MAPPING))  # type: ignore[arg-type]
    for write in (
        lambda: store.write("put_run"),
        store.transaction,
        lambda: store.load([]),
        lambda: store.apply(None),  # type: ignore[arg-type]
    ):
        with pytest.raises(StoreError, match="open for reading only"):
            write()  # type: ignore[no-untyped-call]
    with pytest.raises(StoreError, match="cannot be copied whole"):
        store.tables()
    with pytest.raises(TemplateError, match="is a write template"):
        store.run("put_run")
    assert store.run("genes_of_diseases", diseases=["x"]) == []
    assert store.run("sources")[0]["id"] == "qasystem"


Found = Callable[[str, str], object]


def test_its_source_is_what_a_mapping_is_opened_with(found: Found, tmp_path: Path) -> None:
    assert found("kgdx.graphs", "mapping") is MAPPED.get("mapping") is ForeignSource
    with pytest.raises(ConfigError, match="cannot be read"):
        kgdx.open("bolt://127.0.0.1:9", mapping=tmp_path / "mapping.yaml")


def test_its_commands_are_the_command_lines(found: Found, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    from kgdx.cli import main

    assert found("kgdx.commands", "mapping") is MappingCommands
    (tmp_path / "mine.yaml").touch()
    with pytest.raises(SystemExit) as ended:
        main(["neo4j", "mapping", "new", str(tmp_path / "mine.yaml")])
    assert ended.value.code == UsageError.exit_code
    assert "is there already: give another name, or --force" in capsys.readouterr().err
