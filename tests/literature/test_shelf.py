"""What was fetched from PubMed is kept in one file that several processes write at once."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from kgdx.literature.publications import Publication, PublicationCache
from racing import raced

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
