"""Links into Neo4j Browser: what they say, and that no value breaks out of its query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graph.graphs import AWKWARD
from kgdx.config import Neo4jAccess, Settings
from kgdx.errors import ConfigError, TemplateError, UsageError
from kgdx.graph.neo4j import local_server
from kgdx.graph.neo4j.browser_links import Place, browser_template, link, literal, place, statement
from kgdx.resources import resource
from kgdx.schema import load_schema

ACCESS = Neo4jAccess("bolt://127.0.0.1:17687", "reader", "secret", "neo4j")
PIECE = re.compile(r"'([^'\\]*)'|\"(')\"|'(\\)\\'")


def spoken(text: str) -> str:
    """What Cypher reads in texts that are joined by plus signs, written in the three forms that ours may have."""
    out, at = [], 0
    while True:
        piece = PIECE.match(text, at)
        assert piece is not None, text[at:]
        out.append(next(part for part in piece.groups() if part is not None))
        if piece.end() == len(text):
            return "".join(out)
        assert text.startswith(" + ", piece.end())
        at = piece.end() + 3


@example("it's")
@given(st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\u2028\u2029")))
def test_any_text_is_read_as_it_is(text: str) -> None:
    written = literal(text)
    assert spoken(written) == text
    assert not re.search(r"\\u", written), "older Neo4j read such an escape before they look for the end of a text"


@pytest.mark.parametrize("text", ["\n", "a\x00b", "\u2028", "\x7f"])
def test_control_characters_are_refused(text: str) -> None:
    with pytest.raises(TemplateError, match="cannot stand in a link"):
        literal(text)


def test_a_link_opens_the_database_with_the_query_and_without_the_password() -> None:
    query = statement("evidence_of_run", run="run:1", ranks=[2])
    url = urlsplit(link("http://127.0.0.1:17474/", ACCESS, query))
    assert (url.netloc, url.path, url.fragment) == ("127.0.0.1:17474", "/browser/", "")
    asked = {name: values[0] for name, values in parse_qs(url.query).items()}
    assert asked == {"dbms": "neo4j://reader@127.0.0.1:17687", "db": "neo4j", "cmd": "edit", "arg": query}
    assert "secret" not in url.geturl()
    assert "cmd=" not in link("http://127.0.0.1:17474", ACCESS)


def test_encrypted_connections_stay_encrypted() -> None:
    assert "dbms=neo4j+s://" in link("https://b", replace(ACCESS, uri="bolt+s://db:7687"))


def test_users_with_odd_names_are_quoted() -> None:
    url = link("http://b", replace(ACCESS, user='a@b"<&?#', database="x y"))
    assert url == "http://b/browser/?dbms=neo4j://a%40b%22%3C%26%3F%23@127.0.0.1:17687&db=x%20y"


def test_a_template_says_first_what_it_is_for() -> None:
    for path in resource("cypher", "browser").glob("*.cypher"):
        found = browser_template(path.stem)
        assert (found.kind, found.columns) == ("browser", ("path",))
        assert len(found.purpose) <= 110, "Browser shows the first line above the graph"
    assert statement("evidence_of_run", run="run:1", ranks=[1]).startswith("// What speaks for and against")


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(TemplateError, match="did you mean evidence_of_run"):
        statement("evidence_of_rum")
    with pytest.raises(TemplateError, match="needs ranks"):
        statement("evidence_of_run", run="run:1")
    with pytest.raises(TemplateError, match="'ranks' must be a list of integers"):
        statement("evidence_of_run", run="run:1", ranks=["1 OR true"])


def settings_of(folder: Path, **environ: str) -> Settings:
    return Settings.load(environ={"KGDX_HOME": str(folder), "KGDX_NEO4J_PASSWORD": "x", **environ})


def test_browser_of_another_server_is_at_the_usual_port(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    assert place(settings, "bolt://graph.example.org:7688").browser == "http://graph.example.org:7474"
    assert place(settings, "bolt://[::1]:7688").browser == "http://[::1]:7474"
    found = place(settings, "neo4j+s://x.databases.neo4j.io", "https://browser.neo4j.io")
    assert found.link("RETURN 1").startswith("https://browser.neo4j.io/browser/?dbms=neo4j+s://neo4j@x.databases")


def test_where_browser_is_must_be_known(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="say it with --browser URL"):
        place(settings_of(tmp_path), "neo4j+s://x.databases.neo4j.io")
    for wrong in ("localhost:7474", "javascript:alert(1)", "http://", ""):
        with pytest.raises(UsageError, match="is no web address"):
            place(settings_of(tmp_path), "bolt://h:1", wrong)
    with pytest.raises(ConfigError, match="kgdx neo4j up"):
        place(settings_of(tmp_path))


def test_the_local_server_says_where_its_browser_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "neo4j"
    info = local_server.ServerInfo(
        "bolt://127.0.0.1:9", "http://127.0.0.1:8", "neo4j", home / "p", home, "java", 1, "5", "1g"
    )
    monkeypatch.setattr(local_server, "status", lambda _settings: info)
    assert place(settings_of(tmp_path), "neo4j://localhost:9").browser == "http://127.0.0.1:8"
    assert place(settings_of(tmp_path), "neo4j://localhost:10").browser == "http://localhost:7474"
    assert Place("http://b", ACCESS).link() == link("http://b", ACCESS)


def test_the_style_knows_classes_and_relations_of_the_ontology() -> None:
    schema = load_schema()
    style = resource("browser", "kgdx.grass").read_text("utf-8")
    assert set(re.findall(r"^node\.(\w+)", style, re.MULTILINE)) <= set(schema.nodes)
    assert set(re.findall(r"^relationship\.(\w+)", style, re.MULTILINE)) <= set(schema.relations)
    for property_ in re.findall(r"node\.(\w+) {[^}]*caption: \"{(\w+)}\"", style):
        assert property_[1] in schema.nodes[property_[0]].properties or property_[1] == "id"


@pytest.mark.parametrize(
    "background,text",
    re.findall(
        r"color: (#\w+);\s*border-color: #\w+;\s*text-color-internal: (#\w+)",
        resource("browser", "kgdx.grass").read_text("utf-8"),
    ),
)
def test_captions_stand_out_from_their_nodes(background: str, text: str) -> None:
    darker, lighter = sorted((luminance(background), luminance(text)))
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_saved_queries_name_themselves() -> None:
    queries = sorted(resource("browser", "queries").glob("*.cypher"))
    assert len(queries) >= 5
    schema = load_schema()
    for path in queries:
        title, *lines = path.read_text("utf-8").splitlines()
        assert re.fullmatch(r"// [A-Z][^.]{10,90}", title), path
        assert any(line.startswith("RETURN path") for line in lines), path
        used = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", "\n".join(lines)))
        assert used <= set(schema.relations), path


@pytest.fixture
def ask(neo4j_uri: str) -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    from kgdx.graph.neo4j.neo4j_store import Neo4jStore

    with Neo4jStore.unchecked(Settings.load().neo4j(neo4j_uri)) as store:
        store.define()  # a query may ask a full-text index
        yield lambda query: store._driver.execute_query(query, result_transformer_=lambda result: result.data())


@pytest.mark.neo4j
def test_a_server_reads_texts_as_they_are(ask: Callable[[str], list[dict[str, Any]]]) -> None:
    texts = [*AWKWARD, "\\", "\\\\", "a\\u0027b'", "'", "''", '"', "", "\\' OR 1=1 //"]
    texts = [text for text in texts if text.isprintable()]
    assert ask(f"RETURN {literal(texts)} AS texts") == [{"texts": texts}]


@pytest.mark.neo4j
def test_saved_queries_run(ask: Callable[[str], list[dict[str, Any]]]) -> None:
    for path in sorted(resource("browser", "queries").glob("*.cypher")):
        assert ask(path.read_text("utf-8")) == [], path
