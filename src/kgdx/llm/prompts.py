"""Prompts are files: ``prompts/<name>.md``, with a version that is raised whenever their words change."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from kgdx.errors import LlmError
from kgdx.llm.protocol import Message

_FILE = re.compile(
    r"---\nversion: (?P<version>\d+)\n---\n+## system\n+(?P<system>.+?)\n+## user\n+(?P<user>.+?)\s*", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt; ``$name`` in its text is filled in.

    Attributes:
        name: Name of its file.
        version: Raised with each change.
        system: What the model is told first.
        user: What it is asked.
    """

    name: str
    version: int
    system: str
    user: str

    @property
    def id(self) -> str:
        """Name and version, as they stand in what is made of the answers.

        Example:
            >>> prompt("relations").id.partition("@")[0]
            'relations'
        """
        return f"{self.name}@{self.version}"

    def messages(self, **values: str) -> tuple[Message, ...]:
        """Return the conversation with the values filled in; what looks like a name within a value stays.

        Raises:
            KeyError: A name of the text is not given.
        """
        system, user = (Template(part).substitute(values) for part in (self.system, self.user))
        return (Message("system", system), Message("user", user))


def names() -> tuple[str, ...]:
    """Return the names of all prompts."""
    folder = files("kgdx.llm").joinpath("prompts")
    return tuple(sorted(each.name.removesuffix(".md") for each in folder.iterdir() if each.name.endswith(".md")))


@cache
def prompt(name: str) -> Prompt:
    """Return a prompt.

    Raises:
        LlmError: There is none of that name, or its file is not of the form.
    """
    if name not in names():
        raise LlmError(f"no prompt is called {name!r}", hint=f"one of {', '.join(names())}", kind="missing")
    text = files("kgdx.llm").joinpath("prompts", f"{name}.md").read_text("utf-8")
    found = _FILE.fullmatch(text)
    if found is None:
        hint = "it has a version, a part `## system` and a part `## user`"
        raise LlmError(f"the prompt {name} is not of the form", hint=hint, kind="missing")
    return Prompt(name, int(found["version"]), found["system"], found["user"])
