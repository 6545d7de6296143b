"""Queries for Neo4j Browser that draw what a result rests on, as paths of real relations."""

from __future__ import annotations
from kgdx.actions.browse_diagnosis import diagnosis_query, disease_query, run_query
from kgdx.actions.browse_answer import THINGS, _nodes, answer_query

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kgdx.errors import UsageError
from kgdx.store.browser import statement

if TYPE_CHECKING:
    from kgdx.actions.answer import Answer
    from kgdx.actions.diagnosis import Diagnosis
    from kgdx.actions.evidence import PathNode
    from kgdx.actions.items import EvidenceItem
    from kgdx.case import Finding
