"""The public face of kgdx: build a graph, open it, diagnose, save.

>>> import kgdx
>>> case = kgdx.Case.from_text("She has ptosis and muscle weakness.")
>>> with kgdx.open() as graph:  # doctest: +SKIP
...     print(graph.diagnose(case, top=5).table())
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgdx.lazy import names_of

if TYPE_CHECKING:
    from kgdx.api.browsing import Browsed, browse, browser_place
    from kgdx.api.building import build, decide, diff, freshness, pull, push, readers, remove, retry, update
    from kgdx.api.graph_formats import export_graph
    from kgdx.api.open_graph import CaseLike, Graph, diagnosis_of
    from kgdx.api.opening import ensure_default_graph, export, misfits, open, save, verify

__all__ = [
    "Browsed",
    "CaseLike",
    "Graph",
    "browse",
    "browser_place",
    "build",
    "decide",
    "diagnosis_of",
    "diff",
    "ensure_default_graph",
    "export",
    "export_graph",
    "freshness",
    "misfits",
    "open",
    "pull",
    "push",
    "readers",
    "remove",
    "retry",
    "save",
    "update",
    "verify",
]

__getattr__ = names_of(
    "kgdx",
    {
        "api.browsing": "Browsed browse browser_place",
        "api.building": "build decide diff freshness pull push readers remove retry update",
        "api.graph_formats": "export_graph",
        "api.open_graph": "CaseLike Graph diagnosis_of",
        "api.opening": "ensure_default_graph export misfits open save verify",
    },
)
