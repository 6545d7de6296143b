"""Instructions of the re-ranker: files that say how a model is to order candidates, each with its digest.

Two come with kgdx, and ``kgdx learn prompt`` writes others. A file is YAML between two lines of dashes, with a name and
whether the model is to write down its thoughts, and then the text; what else stands in the YAML are figures.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kgdx.case import Case
from kgdx.errors import UsageError

LONGEST = 6_000
"""Letters of an instruction at most."""


class Instruction(BaseModel):
    """How a model is to order candidates."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^[\w.-]{1,60}$")]
    """What it is called."""
    text: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    """What the model is told."""
    thought: bool = False
    """Whether it is to write down its thoughts before the order."""
    chosen_on: Annotated[tuple[str, ...], Field(exclude=True, repr=False)] = ()
    """Digests of the patients who chose it among others: it is not to be measured on them."""

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{self.thought}\n{self.text}".encode()).hexdigest()[:12]

    def chosen_by(self, patient: Case) -> bool:
        return patient_digest(patient) in self.chosen_on


def patient_digest(case: Case) -> str:
    """Return what stands for a patient, by id and words, in a file that others may read."""
    case = case.identified()
    return hashlib.sha256(f"{case.id}\n{case.text}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def instruction(given: str | Path) -> Instruction:
    """Return an instruction by the name of one that comes with kgdx, or from a file."""
    if isinstance(given, str) and given in names():
        return _builtin(given)
    path = Path(given)
    if not path.is_file():
        hint = f"one of {', '.join(names())}, or a file that `kgdx learn prompt` wrote"
        raise UsageError(f"no instruction is called {str(given)[:60]!r}", hint=hint)
    try:
        return parsed(path.read_text("utf-8"))
    except (ValueError, OSError) as error:
        hint = "it begins with YAML between two lines of dashes: name, thought"
        raise UsageError(f"{path} is no instruction ({error})", hint=hint) from None


@cache
def names() -> tuple[str, ...]:
    folder = files("kgdx.policies").joinpath("instructions")
    return tuple(sorted(each.name.removesuffix(".md") for each in folder.iterdir() if each.name.endswith(".md")))


@cache
def _builtin(name: str) -> Instruction:
    return parsed(files("kgdx.policies").joinpath("instructions", f"{name}.md").read_text("utf-8"))


def parsed(text: str) -> Instruction:
    """Read an instruction."""
    import yaml

    begin, _, rest = text.partition("---\n")
    head, closed, said = rest.partition("\n---\n")
    if begin.strip() or not closed:
        raise ValueError("it does not begin with YAML between two lines of dashes")
    try:
        told = yaml.safe_load(head)
    except yaml.YAMLError:
        raise ValueError("its YAML cannot be read") from None
    if not isinstance(told, dict):
        raise ValueError("its YAML holds no fields")
    try:
        fields = {name: told[name] for name in ("name", "thought", "chosen_on") if name in told}
        found = Instruction.model_validate({**fields, "text": said.strip()})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if told.get("digest", found.digest) != found.digest:
        raise ValueError(f"its digest is {found.digest}, and it says {told['digest']}: it was changed")
    return found


def written(of: Instruction, figures: dict[str, Any]) -> str:
    """Return an instruction as a file."""
    import yaml

    head = {"name": of.name, "thought": of.thought, "digest": of.digest, **figures, "chosen_on": [*of.chosen_on]}
    return f"---\n{yaml.safe_dump(head, allow_unicode=True, sort_keys=False)}---\n{of.text}\n"
