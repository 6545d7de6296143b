"""Where kgdx keeps its state and how it reaches Neo4j: a pure function of the environment and one config file.

Order of precedence, highest first: what the caller passes, the environment, ``<home>/config.toml``, the defaults.
A password is never taken from an address or a command line, so it does not end up in a shell's history.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import platformdirs

from kgdx.config.language_model import LLM_KEYS, NUMBERS, PROVIDER_VARIABLES, LlmAccess, llm_access
from kgdx.config.values import (
    check_private,
    first,
    folder_of,
    is_neo4j,
    languages,
    path_of,
    read_secret,
    same_server,
    seconds,
    store_address,
    switch,
)
from kgdx.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Neo4jAccess:
    """What it takes to open one Neo4j database; the password never shows in the representation.

    Without a password for a server whose authentication is switched off; without a database, the user's home database.
    """

    uri: str
    user: str = "neo4j"
    password: str | None = field(default=None, repr=False)
    database: str | None = None
    ca: Path | None = field(default=None, repr=False)
    bookmarks: tuple[str, ...] = field(default=(), repr=False)


SAVE_WAIT_S = 30.0
"""Seconds that a save waits where nothing else is set."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one invocation; made by :meth:`load`, handed to whoever needs them.

    docs/reference/settings.md says what each is. An empty ``neo4j_password`` means that the server asks for none.
    """

    home: Path
    cache: Path
    store: str
    neo4j_home: Path | None = None
    neo4j_version: str | None = None
    neo4j_user: str | None = None
    neo4j_password: str | None = field(default=None, repr=False)
    neo4j_database: str | None = None
    neo4j_ca: Path | None = None
    neo4j_bookmarks: tuple[str, ...] = ()
    neo4j_mapping: Path | None = None
    on_store: bool = False
    llm_settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    judge_settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    provider_settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    pubmed_settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    align_encoder: str | None = None
    encoder: str | None = None
    align_languages: tuple[str, ...] = ("en",)
    rank_weights: Path | None = None
    rank_retrieval: str = "fused"
    save_wait: float = SAVE_WAIT_S

    @classmethod
    def load(cls, store: str | Path | None = None, *, environ: Mapping[str, str] | None = None) -> Settings:
        """Read the settings.

        Args:
            store: The store that the caller asked for; overrides ``KGDX_STORE`` and the config file.

        Example:
            >>> Settings.load(environ={"KGDX_HOME": "/tmp/kgdx-doc"}).store
            '/tmp/kgdx-doc/graphs/default'
            >>> Settings.load("bolt://localhost:7687", environ={"KGDX_HOME": "/tmp/kgdx-doc"}).is_neo4j
            True
        """
        env = os.environ if environ is None else environ
        home = folder_of(env.get("KGDX_HOME"), "KGDX_HOME") or platformdirs.user_data_path("kgdx", appauthor=False)
        cache = folder_of(env.get("KGDX_CACHE"), "KGDX_CACHE") or platformdirs.user_cache_path("kgdx", appauthor=False)
        config = read_config(home / "config.toml")
        neo4j, align = config.get("neo4j", {}), config.get("align", {})
        if isinstance(store, Path):
            store = str(store)
        chosen = store or env.get("KGDX_STORE") or config.get("store") or str(home / "graphs" / "default")
        neo4j_home = env.get("NEO4J_HOME") or neo4j.get("home")
        return cls(
            home=home,
            cache=cache,
            store=store_address(chosen),
            neo4j_home=folder_of(neo4j_home, "NEO4J_HOME"),
            neo4j_version=env.get("KGDX_NEO4J_VERSION") or neo4j.get("version"),
            neo4j_user=first(env, "KGDX_NEO4J_USER", "NEO4J_USERNAME") or neo4j.get("user"),
            neo4j_password=first(env, "KGDX_NEO4J_PASSWORD", "NEO4J_PASSWORD", default=neo4j.get("password")),
            neo4j_database=first(env, "KGDX_NEO4J_DATABASE", "NEO4J_DATABASE") or neo4j.get("database"),
            neo4j_ca=path_of(env.get("KGDX_NEO4J_CA") or neo4j.get("ca")),
            neo4j_bookmarks=tuple((env.get("KGDX_NEO4J_BOOKMARKS") or "").replace(",", " ").split()),
            neo4j_mapping=path_of(env.get("KGDX_NEO4J_MAPPING") or neo4j.get("mapping")),
            on_store=switch("KGDX_ON_STORE", env.get("KGDX_ON_STORE") or "false"),
            llm_settings=_llm_settings(env, config.get("llm", {})),
            judge_settings=_llm_settings(env, config.get("judge", {}), "judge", JUDGE_KEYS),
            provider_settings={name: env[name] for name in PROVIDER_VARIABLES if env.get(name)},
            pubmed_settings=_pubmed_settings(env, config.get("pubmed", {})),
            align_encoder=env.get("KGDX_ALIGN_ENCODER") or align.get("encoder"),
            encoder=env.get("KGDX_ENCODER") or config.get("encoder"),
            align_languages=languages(env.get("KGDX_ALIGN_LANGUAGES") or align.get("languages") or "en"),
            rank_weights=path_of(env.get("KGDX_RANK_WEIGHTS") or config.get("rank", {}).get("weights")),
            rank_retrieval=env.get("KGDX_RANK_RETRIEVAL") or config.get("rank", {}).get("retrieval") or "fused",
            save_wait=seconds("KGDX_SAVE_WAIT", env.get("KGDX_SAVE_WAIT"), SAVE_WAIT_S),
        )

    @property
    def is_neo4j(self) -> bool:
        return is_neo4j(self.store)

    @property
    def graph_folder(self) -> Path:
        return self.home / "graphs" / "default" if self.is_neo4j else Path(self.store)

    @property
    def server_folder(self) -> Path:
        return self.home / "neo4j"

    def neo4j(self, uri: str | None = None) -> Neo4jAccess:
        """Return how to open ``uri`` (default: the store, else the local server that kgdx started).

        User and password come from the environment or the config file; the local server's own password, where none is
        set for it, from its password file.

        Example:
            >>> env = {"KGDX_HOME": "/tmp/kgdx-doc", "NEO4J_PASSWORD": "secret"}
            >>> Settings.load("neo4j://db:7687", environ=env).neo4j()
            Neo4jAccess(uri='neo4j://db:7687', user='neo4j', database=None)
        """
        local = self._local_server()
        uri = uri or (self.store if self.is_neo4j else None) or (local["bolt"] if local else None)
        if not uri:
            raise ConfigError("no Neo4j address", hint="give one as bolt://HOST:PORT, or start `kgdx neo4j up`")
        uri = store_address(uri)
        if not is_neo4j(uri):
            raise ConfigError(f"{uri} is not a Neo4j address", hint="give one such as bolt://127.0.0.1:7687")
        if local and same_server(uri, local["bolt"]):
            user, password = self.local_login(uri)
            password = password or read_secret(self.server_folder / "password")
        else:
            user, password = self.neo4j_user or "neo4j", self.neo4j_password
        if password is None:
            raise ConfigError(
                f"no password for {uri}",
                hint=f"set KGDX_NEO4J_PASSWORD (empty for a server without authentication), or password under "
                f"[neo4j] in {self.home / 'config.toml'}",
            )
        return Neo4jAccess(uri, user, password or None, self.neo4j_database, self.neo4j_ca, self.neo4j_bookmarks)

    def local_login(self, bolt: str) -> tuple[str, str | None]:
        """Return the user and password that are set for the local server; no password where it has one of its own.

        Those of a store on another server are that server's.

        Example:
            >>> env = {"KGDX_HOME": "/tmp/kgdx-doc", "KGDX_NEO4J_USER": "ada", "KGDX_NEO4J_PASSWORD": "secret"}
            >>> Settings.load(environ=env).local_login("bolt://127.0.0.1:7687")
            ('ada', 'secret')
            >>> Settings.load("neo4j://db:7687", environ=env).local_login("bolt://127.0.0.1:7687")
            ('neo4j', None)
        """
        if self.is_neo4j and not same_server(self.store, bolt):
            return "neo4j", None
        return self.neo4j_user or "neo4j", self.neo4j_password or None

    def llm(self, model: str | None = None) -> LlmAccess:
        """Return how to ask a language model (default: the one that is set).

        Example:
            >>> env = {"KGDX_HOME": "/tmp/kgdx-doc", "KGDX_LLM_BASE_URL": "http://127.0.0.1:11434/v1"}
            >>> Settings.load(environ=env).llm("qwen3:8b").base_url
            'http://127.0.0.1:11434/v1'
        """
        return llm_access(
            {**self.llm_settings, "model": model or self.llm_settings.get("model", "")}, self.provider_settings
        )

    def judge(self, model: str | None = None) -> LlmAccess:
        """Return how to ask the model that judges answers: as :meth:`llm`, but for what is set for the judge.

        The key of one endpoint is never sent to another.

        Example:
            >>> env = {"KGDX_LLM_BASE_URL": "http://127.0.0.1:1/v1", "KGDX_LLM_API_KEY": "k", "KGDX_JUDGE_MODEL": "j"}
            >>> judge = Settings.load(environ={"KGDX_HOME": "/tmp/kgdx-doc", **env}).judge()
            >>> judge.model, judge.base_url
            ('j', 'http://127.0.0.1:1/v1')
        """
        elsewhere = "base_url" in self.judge_settings
        shared = {k: v for k, v in self.llm_settings.items() if not (elsewhere and k == "api_key")}
        return replace(self, llm_settings={**shared, **self.judge_settings}).llm(model)

    @property
    def llm_reads_documents(self) -> bool:
        """Whether a build lets the language model read documents (never patients' texts): only if it is said so.

        Example:
            >>> Settings.load(environ={"KGDX_HOME": "/tmp/kgdx-doc", "KGDX_LLM_DOCUMENTS": "1"}).llm_reads_documents
            True
        """
        return switch("KGDX_LLM_DOCUMENTS", self.llm_settings.get("documents", "false"))

    def _local_server(self) -> dict[str, str] | None:
        try:
            info = json.loads((self.server_folder / "server.json").read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return info if isinstance(info, dict) and isinstance(info.get("bolt"), str) else None


JUDGE_KEYS = frozenset({"base_url", "model", "api_key"})
PUBMED_KEYS = frozenset({"ask", "email", "api_key", "tool", "base_url", "seconds"})
_SECTIONS = {
    "align": frozenset({"encoder", "languages"}),
    "neo4j": frozenset({"user", "password", "database", "ca", "home", "version", "mapping"}),
    "llm": LLM_KEYS,
    "judge": JUDGE_KEYS,
    "pubmed": PUBMED_KEYS,
    "rank": frozenset({"weights", "retrieval"}),
}
_KEYS = frozenset({"store", "encoder", *_SECTIONS})
_SECRETS = (("neo4j", "password"), ("llm", "api_key"), ("judge", "api_key"), ("pubmed", "api_key"))
_NUMERIC = frozenset({*(f"llm.{key}" for key in NUMBERS), "pubmed.seconds"})
_SWITCHES = frozenset({"llm.documents", "llm.deidentify", "pubmed.ask"})


def read_config(path: Path) -> dict[str, Any]:
    """Read the config file; there need be none."""
    import tomllib

    try:
        with path.open("rb") as stream:
            config = tomllib.load(stream)
            mode = os.fstat(stream.fileno()).st_mode
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read {path}: {error}", hint="mend or remove it") from error
    _check_config(path, config)
    if any(secret in config.get(section, {}) for section, secret in _SECRETS):
        check_private(path, mode)
    return config


def _check_config(path: Path, config: dict[str, Any]) -> None:
    unknown = sorted(config.keys() - _KEYS)
    values = [(name, config.get(name, "")) for name in ("store", "encoder")]
    for name, keys in _SECTIONS.items():
        section = config.get(name, {})
        if not isinstance(section, dict):
            raise ConfigError(f"{name} in {path} must be a section", hint=f"write [{name}] on a line of its own")
        unknown += sorted(f"{name}.{key}" for key in section.keys() - keys)
        values += [(f"{name}.{key}", value) for key, value in section.items()]
    if unknown:
        known = sorted(
            [*(_KEYS - _SECTIONS.keys()), *(f"{name}.{key}" for name, keys in _SECTIONS.items() for key in keys)]
        )
        raise ConfigError(f"unknown setting {unknown[0]!r} in {path}", hint=f"known are {', '.join(known)}")
    for key, value in values:
        number = key in _NUMERIC and isinstance(value, int | float)
        switch = key in _SWITCHES and isinstance(value, bool)
        if not isinstance(value, str) and not number and not switch:
            raise ConfigError(f"{key} in {path} must be a string, not {value!r}")


def _pubmed_settings(env: Mapping[str, str], config: Mapping[str, Any]) -> dict[str, str]:
    names: dict[str, tuple[str, ...]] = {key: (f"KGDX_PUBMED_{key.upper()}",) for key in PUBMED_KEYS}
    names |= {"ask": ("KGDX_PUBMED",), "api_key": ("KGDX_PUBMED_API_KEY", "NCBI_API_KEY")}
    given = {key: first(env, *names[key], default=config.get(key)) for key in sorted(PUBMED_KEYS)}
    return {key: str(value) for key, value in given.items() if value not in (None, "")}


def _llm_settings(
    env: Mapping[str, str], config: Mapping[str, Any], section: str = "llm", keys: frozenset[str] = LLM_KEYS
) -> dict[str, str]:
    given = {key: env.get(f"KGDX_{section.upper()}_{key.upper()}", config.get(key)) for key in sorted(keys)}
    return {key: str(value) for key, value in given.items() if value not in (None, "")}
