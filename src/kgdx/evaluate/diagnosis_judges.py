"""Whether a stated diagnosis is the right one: by the graph's ids and exact cross-references first, then by a model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from kgdx.answer.evidence_pack import clean
from kgdx.errors import LlmError
from kgdx.evaluate.labels import Label
from kgdx.evaluate.osce_agents import names_of
from kgdx.llm.chat import ChatModel, Request, prompt
from kgdx.llm.structured import structured
from kgdx.policies.doctor_artifacts import NamedDisease

if TYPE_CHECKING:
    from kgdx.rank.ranker import Ranker

_OTHER = re.compile(r"[^\w]+")


class _Same(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    same: bool


@dataclass(frozen=True)
class DiseaseJudge:
    """Asks a language model whether two names mean the same disease."""

    model: ChatModel

    @property
    def id(self) -> str:
        return f"{self.model.name} {prompt('same_disease').id}"

    def same(self, right: str, stated: str) -> bool:
        """Tell whether both are the same disease; a judgement that cannot be read is a no."""
        messages = prompt("same_disease").messages(right=clean(right, 300), stated=clean(stated, 300))
        try:
            return structured(self.model, Request(messages, max_tokens=400), _Same).value.same
        except LlmError as error:
            if error.kind in ("malformed", "refused", "truncated"):
                return False
            raise


def same_by_graph(named: NamedDisease, diagnosis: str, label: Label, ranker: Ranker) -> bool:
    """Tell whether a disease is the diagnosis: by an id or exact cross-reference of the graph, or by the very name."""
    if any(ranker.number_of(id) in label.right for id in named.ids):
        return True
    return _folded(named.name) in {_folded(each) for each in names_of(diagnosis)} and bool(_folded(named.name))


def _folded(name: str) -> str:
    words = _OTHER.sub(" ", name.casefold().replace("’s", "").replace("'s", "")).split()
    return " ".join(words)
