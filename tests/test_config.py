"""Settings: what wins over what, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kgdx.config import Settings, is_neo4j, same_server
from kgdx.errors import ConfigError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def load(home: Path, store: str | Path | None = None, **environ: str) -> Settings:
    return Settings.load(store, environ={"KGDX_HOME": str(home), **environ})


def write_config(home: Path, text: str, mode: int = 0o600) -> None:
    path = home / "config.toml"
    path.write_text(text, "utf-8")
    path.chmod(mode)


def run_local_server(home: Path, mode: int = 0o600) -> None:
    folder = home / "neo4j"
    folder.mkdir()
    (folder / "server.json").write_text(json.dumps({"bolt": "bolt://127.0.0.1:7777"}), "utf-8")
    (folder / "password").write_text("generated\n", "utf-8")
    (folder / "password").chmod(mode)


def test_default_store_is_a_folder_in_the_home(home: Path) -> None:
    settings = load(home)
    assert settings.store == str(home / "graphs" / "default")
    assert settings.graph_folder == home / "graphs" / "default"
    assert not settings.is_neo4j


def test_argument_beats_environment_beats_config_file(home: Path) -> None:
    write_config(home, 'store = "/from/file"\n')
    assert load(home).store == "/from/file"
    assert load(home, KGDX_STORE="/from/env").store == "/from/env"
    assert load(home, "/from/argument", KGDX_STORE="/from/env").store == "/from/argument"
    assert load(home, Path("/from/path")).store == "/from/path"


def test_nothing_of_the_process_environment_is_read_when_one_is_given(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGDX_STORE", "/elsewhere")
    assert load(home).store == str(home / "graphs" / "default")


def test_home_is_the_platform_folder_by_default() -> None:
    assert Settings.load(environ={}).home.name == "kgdx"


def test_neo4j_password_comes_from_environment_then_config(home: Path) -> None:
    uri = "bolt://db.example:7687"
    write_config(home, '[neo4j]\nuser = "filed"\npassword = "in-file"\ndatabase = "med"\n')
    access = load(home, uri).neo4j()
    assert (access.user, access.password, access.database) == ("filed", "in-file", "med")
    access = load(home, uri, NEO4J_USERNAME="a", NEO4J_PASSWORD="b").neo4j()
    assert (access.user, access.password) == ("a", "b")
    access = load(home, uri, NEO4J_USERNAME="a", NEO4J_PASSWORD="b", KGDX_NEO4J_USER="c", KGDX_NEO4J_PASSWORD="d")
    assert (access.neo4j().user, access.neo4j().password) == ("c", "d")


def test_empty_password_means_a_server_without_authentication(home: Path) -> None:
    assert load(home, "bolt://db", KGDX_NEO4J_PASSWORD="").neo4j().password is None


def test_missing_password_says_where_to_put_it(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"no password for bolt://db: set KGDX_NEO4J_PASSWORD .*config\.toml"):
        load(home, "bolt://db").neo4j()


def test_password_shows_in_no_representation(home: Path) -> None:
    settings = load(home, "bolt://db", KGDX_NEO4J_PASSWORD="s3cret")
    assert "s3cret" not in repr(settings) + repr(settings.neo4j())


def test_local_server_brings_its_own_address_and_password(home: Path) -> None:
    run_local_server(home)
    access = load(home).neo4j()
    assert (access.uri, access.user, access.password) == ("bolt://127.0.0.1:7777", "neo4j", "generated")
    assert load(home, "neo4j://localhost:7777").neo4j().password == "generated"


def test_user_and_password_that_are_set_hold_for_the_local_server(home: Path) -> None:
    run_local_server(home)
    access = load(home, KGDX_NEO4J_USER="ada", KGDX_NEO4J_PASSWORD="set").neo4j()
    assert (access.uri, access.user, access.password) == ("bolt://127.0.0.1:7777", "ada", "set")
    assert load(home, KGDX_NEO4J_USER="ada").neo4j().password == "generated"
    assert load(home, KGDX_NEO4J_PASSWORD="").neo4j().password == "generated", "it always asks for one"


def test_those_of_a_store_on_another_server_are_not_given_to_the_local_one(home: Path) -> None:
    run_local_server(home)
    settings = load(home, "neo4j://db:7687", KGDX_NEO4J_USER="ada", KGDX_NEO4J_PASSWORD="of another server")
    assert settings.neo4j().password == "of another server"
    access = settings.neo4j("bolt://127.0.0.1:7777")
    assert (access.user, access.password) == ("neo4j", "generated")


def test_all_templates_can_be_sent_to_the_store(home: Path) -> None:
    assert not load(home).on_store
    assert load(home, KGDX_ON_STORE="true").on_store
    with pytest.raises(ConfigError, match="KGDX_ON_STORE is 'perhaps'"):
        load(home, KGDX_ON_STORE="perhaps")


def test_local_password_that_others_can_read_is_refused(home: Path) -> None:
    run_local_server(home, mode=0o644)
    with pytest.raises(ConfigError, match="others can read it: run `chmod 600"):
        load(home).neo4j()


def test_lost_local_password_says_what_to_do(home: Path) -> None:
    run_local_server(home)
    (home / "neo4j" / "password").unlink()
    with pytest.raises(ConfigError, match="kgdx neo4j up"):
        load(home).neo4j()


def test_no_address_at_all_is_an_error(home: Path) -> None:
    with pytest.raises(ConfigError, match="no Neo4j address"):
        load(home).neo4j()


def test_a_path_is_no_neo4j_address(home: Path) -> None:
    with pytest.raises(ConfigError, match="is not a Neo4j address"):
        load(home).neo4j("/some/path")


@pytest.mark.parametrize(
    ("store", "problem"),
    [
        ("bolt://user:pw@host:7687", "holds credentials"),
        ("http://host", "scheme 'http' is unknown"),
        ("bolt://", "no host or a bad port"),
        ("bolt://host:port", "no host or a bad port"),
        ("bolt://host:99999", "no host or a bad port"),
        ("bolt://host:0", "no host or a bad port"),
        ("neo4j://host:7687/movies", "has a path behind it: .*KGDX_NEO4J_DATABASE"),
        ("neo4j+ssl://host", r"scheme 'neo4j\+ssl' is unknown: .*neo4j\+s, neo4j\+ssc"),
        ("bolt://[::1", "no host or a bad port"),
        ("bolt://a host", "no host or a bad port"),
        ("   ", "must be a path or a Bolt address"),
    ],
)
def test_unusable_store_is_refused_without_repeating_a_password(home: Path, store: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        load(home, store)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("store = ", "cannot read"),
        ('stor = "x"', "unknown setting 'stor'"),
        ('[neo4j]\npass = "x"', r"unknown setting 'neo4j\.pass'"),
        ("neo4j = 1", "must be a section"),
        ("store = 1", "store in .* must be a string"),
    ],
)
def test_bad_config_file_is_named(home: Path, text: str, problem: str) -> None:
    write_config(home, text)
    with pytest.raises(ConfigError, match=problem):
        load(home)


def test_config_with_a_password_must_be_private(home: Path) -> None:
    write_config(home, '[neo4j]\npassword = "x"\n', mode=0o640)
    with pytest.raises(ConfigError, match="chmod 600"):
        load(home)
    os.chmod(home / "config.toml", 0o600)
    assert load(home).neo4j_password == "x"


def test_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="KGDX_HOME is .* not a folder"):
        load(tmp_path / "file")


def test_addresses_are_told_from_paths() -> None:
    assert is_neo4j("NEO4J+S://x") and not is_neo4j("bolt") and not is_neo4j(Path("bolt:/x"))


def test_same_server_knows_the_names_of_this_machine() -> None:
    assert same_server("bolt://localhost", "neo4j://127.0.0.1:7687")
    assert not same_server("bolt://localhost:7688", "bolt://localhost")
    assert not same_server("bolt://a:1", "bolt://b:1")


def test_a_language_model_is_reached_only_where_the_user_says(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no language model is named"):
        Settings.load(environ={"KGDX_HOME": str(tmp_path)}).llm()
    with pytest.raises(ConfigError, match="no endpoint is set for the model m"):
        Settings.load(environ={"KGDX_HOME": str(tmp_path), "KGDX_LLM_MODEL": "m", "OPENAI_API_KEY": "k"}).llm()


def test_the_settings_of_a_language_model_come_from_environment_then_file(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[llm]\nbase_url = "http://h:1/v1/"\nmodel = "m"\ntimeout = 9\napi_key = "secret"\n')
    config.chmod(0o600)
    found = Settings.load(environ={"KGDX_HOME": str(tmp_path), "KGDX_LLM_MODEL": "n", "KGDX_LLM_PRICE_IN": "0.5"}).llm()
    assert (found.base_url, found.model, found.timeout, found.price_in) == ("http://h:1/v1", "n", 9.0, 0.5)
    assert found.api_key == "secret"
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BASE_URL", "ftp://h"),
        ("BASE_URL", "http://u:p@h"),
        ("BASE_URL", "http://[::1"),
        ("BASE_URL", "http://a b/v1"),
        ("BASE_URL", "http://h\x1b[31m/v1"),
        ("TIMEOUT", "soon"),
        ("TIMEOUT", "1e308"),
        ("TIMEOUT", "nan"),
        ("MAX_CALLS", "-3"),
        ("CONCURRENCY", "inf"),
        ("PRICE_IN", "-1"),
        ("CASSETTE_MODE", "loop"),
    ],
)
def test_a_wrong_setting_of_a_language_model_is_named(tmp_path: Path, name: str, value: str) -> None:
    env = {"KGDX_HOME": str(tmp_path), "KGDX_LLM_MODEL": "m", "KGDX_LLM_BASE_URL": "http://h/v1"}
    with pytest.raises(ConfigError, match=f"KGDX_LLM_{name}"):
        Settings.load(environ=env | {f"KGDX_LLM_{name}": value}).llm()


def test_a_readable_file_with_a_key_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[llm]\napi_key = "secret"\n')
    config.chmod(0o644)
    with pytest.raises(ConfigError, match="others can read it"):
        Settings.load(environ={"KGDX_HOME": str(tmp_path)})


def test_certificates_and_bookmarks_of_a_server_are_settings(tmp_path: Path) -> None:
    env = {"KGDX_HOME": str(tmp_path), "KGDX_NEO4J_PASSWORD": "p", "KGDX_NEO4J_BOOKMARKS": "FB:one, FB:two"}
    (tmp_path / "config.toml").write_text('[neo4j]\nca = "/etc/authority.pem"\n', "utf-8")
    found = Settings.load("neo4j+s://db", environ=env).neo4j()
    assert found.ca == Path("/etc/authority.pem") and found.bookmarks == ("FB:one", "FB:two")
    other = Settings.load("neo4j+s://db", environ={**env, "KGDX_NEO4J_CA": str(tmp_path / "own.pem")}).neo4j()
    assert other.ca == tmp_path / "own.pem"
