"""How PubMed is asked: off unless settings switch it on, and kept in one file that several processes share."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from kgdx.config import Settings
from kgdx.errors import ConfigError
from kgdx.literature import BASE_URL, PubMedAccess, pubmed_access
from kgdx.literature.publications import Publication, PublicationCache
from racing import raced


def access(home: Path, **settings: str) -> PubMedAccess | None:
    return pubmed_access(Settings.load(environ={"KGDX_HOME": str(home), **settings}))


def test_nothing_is_asked_without_an_address(tmp_path: Path) -> None:
    assert access(tmp_path) is None
    assert access(tmp_path, NCBI_API_KEY="k") is None
    with pytest.raises(ConfigError, match="set KGDX_PUBMED_EMAIL"):
        access(tmp_path, KGDX_PUBMED="true")


def test_with_an_address_it_can_be_asked_and_is_not_unless_it_is_switched_on(tmp_path: Path) -> None:
    made = access(tmp_path, KGDX_PUBMED_EMAIL="ada@example.org")
    assert made == PubMedAccess("ada@example.org")
    assert made is not None
    assert (made.ask, made.base_url, made.tool) == (False, BASE_URL, "kgdx")
    on = access(tmp_path, KGDX_PUBMED_EMAIL="ada@example.org", KGDX_PUBMED="1")
    assert on is not None
    assert on.ask


def test_a_key_allows_ten_requests_a_second_instead_of_three_and_never_shows(tmp_path: Path) -> None:
    free = access(tmp_path, KGDX_PUBMED_EMAIL="ada@example.org")
    paid = access(tmp_path, KGDX_PUBMED_EMAIL="ada@example.org", NCBI_API_KEY="SECRET")
    assert free is not None
    assert paid is not None
    assert 1 / free.interval < 3
    assert 9 < 1 / paid.interval < 10
    assert "SECRET" not in repr(paid)


def test_the_config_file_says_the_same_and_may_not_be_open_to_others_with_a_key(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[pubmed]\nask = true\nemail = "ada@example.org"\napi_key = "k"\nseconds = 2.5\n')
    file.chmod(0o600)
    made = access(tmp_path)
    assert made == PubMedAccess("ada@example.org", "k", seconds=2.5, ask=True)
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        access(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EMAIL", "nobody"),
        ("SECONDS", "-1"),
        ("SECONDS", "soon"),
        ("SECONDS", "nan"),
        ("BASE_URL", "ftp://example.org"),
        ("BASE_URL", "https://user:word@example.org"),
        ("BASE_URL", "https://example.org/?x=1"),
        ("BASE_URL", "http://[::1"),
    ],
)
def test_a_setting_that_cannot_be_right_is_named(tmp_path: Path, name: str, value: str) -> None:
    given = {"KGDX_PUBMED_EMAIL": "ada@example.org", f"KGDX_PUBMED_{name}": value}
    with pytest.raises(ConfigError, match=f"KGDX_PUBMED_{name}"):
        access(tmp_path, **given)


def test_a_switch_that_is_neither_on_nor_off_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="KGDX_PUBMED is 'maybe'"):
        access(tmp_path, KGDX_PUBMED="maybe")


EACH = 60

_WRITING = """
import sys
from pathlib import Path
from kgdx.literature.publications import Publication
from kgdx.literature.publications import PublicationCache
file, first, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
shelf = PublicationCache(file)
for pmid in map(str, range(first, first + count)):
    shelf.put_search("https://x", f"term {pmid}", [pmid, "7"])
    shelf.put_publications([pmid, "7"], [Publication(pmid, f"Report {pmid}")])
    assert shelf.publications([pmid])[pmid].title == f"Report {pmid}"
shelf.close()
"""


def test_processes_that_keep_publications_at_once_lose_none(tmp_path: Path) -> None:
    file = tmp_path / "pubmed.sqlite"
    starts = (1000, 2000, 3000)
    raced(_WRITING, [(file, start, EACH) for start in starts])
    pmids = [str(start + at) for start in starts for at in range(EACH)]
    with closing(PublicationCache(file)) as shelf:
        assert {pmid: found and found.title for pmid, found in shelf.publications(pmids).items()} == {
            pmid: f"Report {pmid}" for pmid in pmids
        }
        assert all(shelf.search("https://x", f"term {pmid}") == (pmid, "7") for pmid in pmids)
        assert shelf.publications(["7"]) == {"7": None}


def test_a_folder_that_cannot_be_written_keeps_nothing_and_fails_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with closing(PublicationCache(tmp_path / "file" / "pubmed.sqlite")) as shelf:
        shelf.put_publications(["1"], [Publication("1", "A report")])
        assert shelf.publications(["1"]) == {"1": Publication("1", "A report")}
