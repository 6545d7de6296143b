"""Graph-grounded diagnosis: from a patient's words to ranked diseases with the evidence for each.

Everything public is loaded when it is first used, so that ``import kgdx`` costs nothing.

    >>> import kgdx
    >>> kgdx.Case.from_phenopacket({"id": "p", "phenotypicFeatures": [{"type": {"id": "HP:0001250"}}]}).observed
    ('HP:0001250',)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgdx.lazy import names_of

if TYPE_CHECKING:
    from kgdx.answer.cited_answer import Answer
    from kgdx.answer.diagnosis import Diagnosis
    from kgdx.api import Graph, browse, browser_place, build, open, save
    from kgdx.case import Case, Finding, Issue, Status, read_cases
    from kgdx.episode.resume import replay
    from kgdx.episode.state import Limits
    from kgdx.errors import KgdxError
    from kgdx.results.evidence_paths import EvidencePath

_home = names_of(
    "kgdx",
    {
        "answer.cited_answer": "Answer",
        "answer.diagnosis": "Diagnosis",
        "api": "Graph browse browser_place build open save",
        "case": "Case Finding Issue Status read_cases",
        "episode.resume": "replay",
        "episode.state": "Limits",
        "errors": "KgdxError",
        "results.evidence_paths": "EvidencePath",
    },
)

__all__ = [
    "Answer",
    "Case",
    "Diagnosis",
    "EvidencePath",
    "Finding",
    "Graph",
    "Issue",
    "KgdxError",
    "Limits",
    "Status",
    "browse",
    "browser_place",
    "build",
    "open",
    "read_cases",
    "replay",
    "save",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("kgdx")
    return _home(name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
