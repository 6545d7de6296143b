"""The house agrees with itself: ontology, Cypher templates and their reader, manifests, code, documentation."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import ROOT
from cypher_text import faults, returned
from kgdx.graph.neo4j.schema_statements import IN_SNAPSHOTS, SNAPSHOTS
from kgdx.graph.templates import Template, parse, templates
from kgdx.schema import load_schema

SOURCES = sorted((ROOT / "src" / "kgdx").rglob("*.py"))

PACKAGES = sorted((ROOT / "packages").glob("*/src/**/*.py"))

TEMPLATE_FILES = [p for kind in ("read", "write") for p in sorted((ROOT / "cypher" / kind).glob("*.cypher"))]

OTHER_CYPHER = sorted({*(ROOT / "cypher").rglob("*.cypher")} - {*TEMPLATE_FILES})

MANIFESTS = sorted((ROOT / "loaders").glob("*.yaml"))

#: Where each family is registered, and the folders whose tests have to name every member.
REGISTRIES = {
    "actions": ("kgdx.actions:ACTIONS", "tests"),
    "policies": ("kgdx.policies:POLICIES", "tests/policies"),
    "scorers": ("kgdx.rank.scorers:SCORERS", "tests/rank"),
    "contenders": ("kgdx.evaluate.leaderboard:CONTENDERS", "tests/evaluate"),
}

CYPHER = re.compile(
    r"\bMATCH\s*\(|\bMERGE\s*\(|\bCREATE\s*\(|\bUNWIND\s+\$|\bDETACH\s+DELETE\b|\)\s*<?-\s*\[\s*\w*\s*:\s*[A-Z_]+|"
    r"\bRETURN\s+\w+\.\w+"
)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def over(paths: Iterable[Path]) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """Make one test of a rule that many files keep; it tells of each file that does not."""

    def decorate(rule: Callable[[Path], None]) -> Callable[[], None]:
        def test() -> None:
            failed = []
            for path in paths:
                try:
                    rule(path)
                except AssertionError as error:
                    error.add_note(f"in {name_of(path)}")
                    failed.append(error)
            if failed:
                raise ExceptionGroup(f"{len(failed)} files break the rule", failed)

        return test

    return decorate


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@over(TEMPLATE_FILES)
def test_template_uses_only_what_the_ontology_has(path: Path) -> None:
    template = parse(path)
    assert faults(template.text, load_schema(), frozenset(template.fields)) == []


@over(TEMPLATE_FILES)
def test_template_header_is_truthful(path: Path) -> None:
    template = parse(path)  # refuses a header whose parameters are not those of the text
    assert template.purpose.endswith("."), "the purpose is a sentence"
    for columns in returned(template.text):
        assert tuple(columns) == template.columns


@over(OTHER_CYPHER)
def test_administration_statement_uses_only_what_the_ontology_has(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if "snapshot" in path.stem:  # stored snapshots are nodes of no ontology, with names of their own
        assert set(re.findall(r":(Kgdx\w*)", text)) <= set(SNAPSHOTS)
        assert set(re.findall(r"\b[sp]\.(\w+)", text)) <= {"id", *IN_SNAPSHOTS}
    elif "vector" in path.stem:  # so are the vectors beside a graph
        assert set(re.findall(r":(Kgdx\w*)", text)) <= {"KgdxVector"}
        assert set(re.findall(r"\bv\.(\w+)", text)) <= {"label", "node", "text", "embedding"}
    elif "_aside" in path.stem:  # and what users saved while a graph is replaced
        assert set(re.findall(r":(Kgdx\w*)", text)) == {"KgdxSaved"}
        assert set(re.findall(r"\bs\.(\w+)", text)) <= {"document"}
    else:
        assert faults(text, load_schema(), frozenset({"id", "start", "end", "properties", "identity", "n"})) == []
    header = "\n".join(line for line in text.splitlines() if line.startswith("//"))
    assert header.startswith("// purpose: ")
    declared = set(re.findall(r"(?:params:|,)\s*(\w+):", header))
    assert set(re.findall(r"\$(\w+)", text)) == declared


def test_variants_of_a_template_have_one_header() -> None:
    arcade, neo4j = templates("arcade"), templates("neo4j")
    assert arcade.keys() == neo4j.keys()
    for name, template in arcade.items():
        assert (template.columns, template.parameters, template.kind) == (
            neo4j[name].columns,
            neo4j[name].parameters,
            neo4j[name].kind,
        )


@over(TEMPLATE_FILES)
def test_template_that_returns_a_limited_number_of_rows_orders_them(path: Path) -> None:
    for clause in re.findall(r"(?:.*\n)*?.*\bLIMIT\b", parse(path).text):
        last = re.split(r"\b(?:WITH|RETURN)\b", clause)[-1]
        assert "ORDER BY" in last, f"picks rows at random: {last.strip()}"


def strings_of_code(tree: ast.Module) -> Iterator[ast.Constant]:
    """String constants that are no docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node


@over([*SOURCES, *PACKAGES])
def test_module_holds_no_cypher(path: Path) -> None:
    found = [node.value for node in strings_of_code(parsed(path)) if CYPHER.search(node.value)]
    assert found == []


def test_cypher_in_code_would_be_found() -> None:
    tree = ast.parse(
        '"""MATCH (n) is fine here."""\nquery = f"MATCH (d:{label}) RETURN d.id"\nplain = "MATCH the words"'
    )
    assert len([node for node in strings_of_code(tree) if CYPHER.search(node.value)]) == 2


def calls(name: str) -> Iterator[tuple[Path, ast.Call]]:
    for path in (*SOURCES, *PACKAGES):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == name:
                yield path, node


def literals(call: ast.Call) -> list[str | None]:
    return [a.value if isinstance(a, ast.Constant) and isinstance(a.value, str) else None for a in call.args]


def test_tables_made_in_code_are_of_the_ontology() -> None:
    schema = load_schema()
    for path, call in calls("NodeTable"):
        label = (literals(call) or [None])[0]
        assert label is None or label in schema.nodes, f"{name_of(path)}:{call.lineno}"
    for path, call in calls("RelationTable"):
        type_, start, end = (literals(call) + [None] * 3)[:3]
        if type_ is not None:
            ends = schema.relation(type_).ends
            assert start is None or end is None or (start, end) in ends, f"{name_of(path)}:{call.lineno}"


def template_calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Calls that name a template: ``store.run("name", …)``, ``.write(…)``, ``query(…, "name", …)``."""
    for method in ("run", "write", "query"):
        for path, call in calls(method):
            named = [n for n in literals(call) if n is not None and re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", n)]
            if named:
                yield f"{name_of(path)}:{call.lineno}", named[0], call


def test_code_runs_templates_that_exist_with_the_parameters_they_take() -> None:
    known: Mapping[str, Template] = templates()
    for place, name, call in template_calls():
        assert name in known, f"{place} runs {name}"
        given = {keyword.arg for keyword in call.keywords if keyword.arg}
        assert given <= known[name].parameters.keys(), f"{place} runs {name}"


def test_no_template_is_left_unused() -> None:
    files = [*SOURCES, *PACKAGES, *sorted((ROOT / "tests").rglob("*.py"))]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    assert [name for name in templates() if not re.search(rf"[\"']{name}[\"']", text)] == []


def manifest(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return loaded


@over(MANIFESTS)
def test_manifest_says_who_made_the_source(path: Path) -> None:
    loaded = manifest(path)
    assert loaded["name"] == path.stem
    for key in ("title", "licence", "citation", "format"):
        assert loaded[key], key


@over(MANIFESTS)
def test_manifest_maps_to_the_ontology(path: Path) -> None:
    schema, loaded = load_schema(), manifest(path)
    for mapping in loaded.get("nodes", []):
        node = schema.node(mapping["class"])
        assert mapping.get("properties", {}).keys() <= node.properties.keys(), node.name
    for mapping in loaded.get("relations", []):
        relation = schema.relation(mapping["type"])
        told_apart = {"relation"} if relation.name == "SAME_AS" else set()
        assert mapping.get("properties", {}).keys() - told_apart <= relation.properties.keys(), relation.name
        assert (mapping["start"]["class"], mapping["end"]["class"]) in relation.ends, relation.name
    assert loaded.get("nodes") or loaded.get("relations")


@pytest.mark.parametrize("family", REGISTRIES)
def test_every_member_of_a_registry_is_documented_and_tested(family: str) -> None:
    place, folder = REGISTRIES[family]
    module, _, attribute = place.partition(":")
    registry = getattr(importlib.import_module(module), attribute)
    tests = "\n".join(p.read_text(encoding="utf-8") for p in sorted((ROOT / folder).rglob("test_*.py")))
    assert registry, f"{place} is empty"
    assert [name for name in registry if not (registry.get(name).__doc__ or "").strip()] == []
    assert [name for name in registry if not re.search(rf"\b{name}\b", tests)] == [], f"not named in {folder}"


def test_continuous_integration_runs_the_readmes_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    blocks = [block.strip() for block in re.findall(r"^```bash\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)]
    setup, test = re.findall(r'^(?:SETUP|TEST)_COMMAND="(.+)"$', script, re.MULTILINE)
    assert blocks[0] == setup, "the first block is one line to copy"
    assert setup.endswith("&& kgdx diagnose examples/patient.json"), "and ends with a diagnosis"
    assert test in blocks
    steps = script.partition('step "set-up')[2].partition('step "speed')[0]
    for name in ("SETUP_COMMAND", "TEST_COMMAND"):
        assert f'bash -c "set -eo pipefail; ${name}"' in steps
    assert "/full/" not in steps, "where nothing else is"


def test_tests_of_one_module_stay_on_one_worker(request: pytest.FixtureRequest, worker_id: str) -> None:
    assert worker_id == "master" or request.node.nodeid.endswith("@" + str(request.path))


def test_the_architecture_page_lists_the_rooms_in_the_order_that_the_linter_holds() -> None:
    import tomllib

    contract, _ = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = [sorted(room.strip() for room in layer.split("|")) for layer in contract["layers"] if "(" not in layer]
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+?`) \|", page.partition("## Rooms")[2].partition("\n## ")[0], re.MULTILINE)
    listed = [room for row in rows for room in re.findall(r"`(\w+)`", row)]
    assert [sorted(listed[at : at + len(layer)]) for at, layer in _placed(layers)] == layers
    assert len(listed) == sum(map(len, layers))


def _placed(layers: list[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """Each layer with the number of rooms before it."""
    at = 0
    for layer in layers:
        yield at, layer
        at += len(layer)


def test_no_module_has_the_name_of_one_in_another_room() -> None:
    rooms: dict[str, set[str]] = {}
    for path in SOURCES:
        parts = path.relative_to(ROOT / "src" / "kgdx").with_suffix("").parts
        if len(parts) > 1 and not parts[-1].startswith("__"):
            rooms.setdefault(parts[-1], set()).add(parts[0])
    assert {name: found for name, found in rooms.items() if len(found) > 1} == {}


def test_every_public_name_can_be_imported() -> None:
    for path in SOURCES:
        if path.name == "__init__.py":
            package = importlib.import_module(".".join(path.relative_to(ROOT / "src").parent.parts))
            for name in getattr(package, "__all__", ()):
                assert hasattr(package, name), f"{package.__name__}.{name}"


@over([*sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "benchmarks").rglob("*.py"))])
def test_every_test_and_benchmark_imports_what_exists(path: Path) -> None:
    """A test module that cannot be imported would be skipped: its examples are collected as a module's are."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            ours = [alias.name for alias in node.names if alias.name.partition(".")[0] == "kgdx"]
            assert [name for name in ours if importlib.util.find_spec(name) is None] == []
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "kgdx":
            bound = names_in(node.module or "")
            missing = {alias.name for alias in node.names} - bound
            assert not missing or "__getattr__" in bound, f"{node.module}: {missing}"


@cache
def names_in(module: str) -> frozenset[str]:
    """What a module binds at its top level, read without importing it: it may need an extra."""
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None, module
    found = {file.stem for place in spec.submodule_search_locations or () for file in Path(place).iterdir()}
    for node in ast.walk(ast.parse(Path(spec.origin).read_text("utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return frozenset(found)


def test_every_dependency_has_its_reason() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    for requirement in project["dependencies"]:
        name = re.split(r"[<>=!~\[ ]", requirement)[0]
        assert f"`{name}`" in page, f"{name} has no reason in docs/dependencies.md"
    for extra in project["optional-dependencies"]:
        assert f"kgdx[{extra}]" in page, f"the extra {extra} is not in docs/dependencies.md"


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (d:Disease {id: $id}) RETURN d.name AS name",
        "MATCH (d:Disease)-[h:HAS_PHENOTYPE]->(p:Phenotype) WHERE d.id IN $ids RETURN h.frequency, p.id",
        "MATCH (p:Phenotype)<-[:HAS_PHENOTYPE|LACKS_PHENOTYPE]-(d) RETURN d.id",
        "MATCH path = (a:Phenotype)-[:IS_A*0..20]->(b:Phenotype) RETURN [n IN nodes(path) | n.id] AS ids",
        "MATCH (d:Disease)-[:SAME_AS]-(e:Disease) WITH e AS x RETURN x.name_zh",
        "MATCH (d:Disease) WHERE d.name = 'a (b:Nothing) {x: 1} c.d' RETURN count(d) AS n",
        "MATCH (d:Disease) WITH collect({key: d.id}) AS maps UNWIND maps AS map RETURN map.key",
        "MATCH (n:<label>)-[r:<type>]->(m) RETURN n.id, r.source",
        "CALL db.index.fulltext.queryNodes('x', $q) YIELD node RETURN node.id",
    ],
)
def test_a_text_within_the_ontology_has_no_fault(text: str) -> None:
    assert faults(text, load_schema()) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("MATCH (d:Desease) RETURN d.id", "label Desease"),
        ("MATCH (d:Disease)-[:TREATS]->(x) RETURN d.id", "relation TREATS"),
        ("MATCH (d:Disease)-[:HAS_PHENOTYPE|OBSERVES]->(x) RETURN d.id", "relation OBSERVES"),
        ("MATCH (d:Disease) RETURN d.symbol AS x", "property d.symbol"),
        ("MATCH (d:Disease) WITH d AS e RETURN e.span_start", "property e.span_start"),
        ("MATCH (d:Disease {title: $t}) RETURN d.id", "property title"),
        ("MATCH (d:Disease)-[h:HAS_PHENOTYPE {score: 1}]->(p) RETURN p.id", "property score"),
        ("MATCH (d:Disease)-[h:HAS_PHENOTYPE]->(p:Phenotype) RETURN h.strength", "property h.strength"),
        ("MATCH (p:Phenotype)-[:HAS_PHENOTYPE]->(d:Disease) RETURN d.id", "ends of HAS_PHENOTYPE"),
        ("MATCH (p:Phenotype)-[:IS_A]->(d:Disease) RETURN d.id", "ends of IS_A"),
        ("MATCH (d:Disease) MATCH (g:Gene) MERGE (g)-[r:ASSOCIATED_GENE]->(d)", "ends of ASSOCIATED_GENE"),
        ("MATCH (d:Disease) RETURN d.id UNION ALL MATCH (d:Gene) RETURN d.definition", "property d.definition"),
        ("UNWIND $rows AS row MATCH (d:Disease {id: row.key}) SET d.name = row.name", "property row.key"),
        ("MATCH (d:Disease) UNWIND d.synonyms AS s RETURN s.word", "property s.word"),
    ],
)
def test_a_fault_is_found(text: str, fault: str) -> None:
    found = faults(text, load_schema(), frozenset({"name"}))
    assert len(found) == 1
    assert found[0].startswith(fault)


def test_returned_columns_are_read_for_each_part() -> None:
    text = """MATCH (a) RETURN DISTINCT a.id AS id, coalesce(a.name, a.title) AS name ORDER BY id LIMIT 3
    UNION ALL MATCH (b) RETURN b.id AS id, 'AS, x' AS name"""
    assert returned(text) == [["id", "name"], ["id", "name"]]
    assert returned("MATCH (a) DETACH DELETE a") == [[]]


def test_what_a_subquery_returns_is_left_out() -> None:
    text = "CALL { MATCH (a {id: 1}) RETURN a UNION ALL MATCH (b) RETURN b AS a } RETURN a.id AS id"
    assert returned(text) == [["id"]]


def test_options_of_an_index_are_no_properties() -> None:
    text = (
        "CREATE FULLTEXT INDEX i FOR (n:Disease) ON EACH [n.name] OPTIONS {indexConfig: {`fulltext.analyzer`: 'cjk'}}"
    )
    assert faults(text, load_schema()) == []
