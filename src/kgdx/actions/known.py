"""What an episode comes to know beside rows: resolved names, descriptions, citations, and the answer with its marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Resolved:
    """How a name that was given to an action was understood.

    Attributes:
        given: The name or id as it was given.
        kinds: Node classes that it could be of.
        ids: Ids that it stands for; several where sources have entries of the same name; none when it is unknown.
        names: Their names, in the same order.
        method: ``id``, ``exact``, ``normalised``, ``edit`` or ``encoder``; empty when it is unknown.
        score: From 0 to 1.
        candidates: Names near it, best first, where it is unknown or doubtful.
        reason: Why it was decided so, in words.
        matched: The name or synonym that was found.
        relation: How what was given relates to the best entry: ``exact``, ``narrower`` or ``broader``.
        via: For each id that a relation says to be the same as another one, that one; empty for the others.
        sources: Which source states each entry.
        left_out: How many further entries it stands for.

    Example:
        >>> Resolved("百日咳", ("Disease",), ("CN:1",), ("百日咳",), "exact", 1.0).ids
        ('CN:1',)
    """

    given: str
    kinds: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    method: str = ""
    score: float = 0.0
    candidates: tuple[str, ...] = ()
    reason: str = ""
    matched: str = ""
    relation: str = ""
    via: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    left_out: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values.

        Example:
            >>> Resolved("x", ("Drug",)).to_dict()["kinds"]
            ['Drug']
        """
        return _plain(self)


@dataclass(frozen=True, slots=True)
class MeshHeading:
    """The MeSH heading of a disease, and how it was found.

    Attributes:
        id: CURIE of the descriptor; empty when none could be stated.
        heading: Its name.
        scope_note: What MeSH says that it means.
        tree_numbers: Its places in the tree.
        relation: How the disease relates to it: ``exact``, ``narrower`` or ``broader``.
        method: The stage of the alignment that decided, such as ``exact`` or ``edit``.
        score: 0 to 1.
        origin: ``graph`` when a relation of the graph says so, ``name`` when it was looked up by the disease's names.
        decision: The record of the decision: what was considered, what had to be reached, and the reason.
    """

    id: str = ""
    heading: str = ""
    scope_note: str = ""
    tree_numbers: tuple[str, ...] = ()
    relation: str = ""
    method: str = ""
    score: float = 0.0
    origin: Literal["graph", "name"] = "name"
    decision: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Description:
    """What the graph says of a disease in words.

    Attributes:
        id: The disease.
        names: Its names, the preferred one first.
        text: The description; empty where no source has one.
        source: Source of the text.
        mesh: Its MeSH heading; ``None`` where the graph has no MeSH.
    """

    id: str
    names: tuple[str, ...] = ()
    text: str = ""
    source: str = ""
    mesh: MeshHeading | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values.

        Example:
            >>> Description("CN:1", ("百日咳",)).to_dict()["names"]
            ['百日咳']
        """
        return _plain(self)


@dataclass(frozen=True, slots=True)
class Citation:
    """A publication.

    Attributes:
        id: Its CURIE, such as ``PMID:12345``.
        title: Empty where only the id is known.
        authors: Family name and initials of each.
        journal: Where it appeared.
        year: When.
        doi: Its DOI.
        abstract: What it says in short.
        about: Ids of the entities that it was found for.
        origin: ``graph`` when a relation of the graph carries it, ``pubmed`` when it was searched for.
    """

    id: str
    title: str = ""
    authors: tuple[str, ...] = ()
    journal: str = ""
    year: str = ""
    doi: str = ""
    abstract: str = ""
    about: tuple[str, ...] = ()
    origin: Literal["graph", "pubmed"] = "graph"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return _plain(self)

    def __str__(self) -> str:
        """Return it as one line of a list of references.

        Example:
            >>> print(Citation("PMID:1", "On ptosis", ("Doe J", "Roe R", "Poe P", "Moe M"), "J Neurol", "2020"))
            Doe J, Roe R, Poe P et al. On ptosis. J Neurol 2020. PMID:1
        """
        authors = ", ".join(self.authors[:3]) + (" et al" if len(self.authors) > 3 else "")
        place = " ".join(part for part in (self.journal, self.year) if part)
        parts = [part.rstrip(".") for part in (authors, self.title, place) if part]
        return ". ".join([*parts, self.id])


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer.

    Attributes:
        text: Its words, with the marks of its evidence in place.
        cites: Ids of the evidence that it cites.
        supported: It cites evidence, or makes no claim about the matter.
        gap: What stands before it: nothing, a space, or new lines.
    """

    text: str
    cites: tuple[str, ...] = ()
    supported: bool = True
    gap: str = " "


UNSUPPORTED = {"en": " [unsupported]", "zh": "［无依据］"}
"""How a sentence is marked that cites nothing although it has to."""


@dataclass(frozen=True, slots=True)
class CitedText:
    """An answer whose citations were checked against the evidence.

    Attributes:
        sentences: In order.
        removed: Marks and publications that were taken out because no such evidence exists, each as often as it stood.
        unsupported: How many sentences cite nothing.
        insufficient: The evidence was not enough, and the answer says so.
        author: Who wrote it: ``template``, or the model's name.
        strict: Whether it may rest on nothing but the evidence.
        language: ``en`` or ``zh``.

    Example:
        >>> print(CitedText((Sentence("Ptosis is typical [E1][E2].", ("E1", "E2")), Sentence("So it is.", (), False))))
        Ptosis is typical [E1][E2]. So it is. [unsupported]
    """

    sentences: tuple[Sentence, ...] = ()
    removed: tuple[str, ...] = ()
    unsupported: int = 0
    insufficient: bool = False
    author: str = "template"
    strict: bool = True
    language: str = "en"

    @property
    def text(self) -> str:
        """The answer with its marks; in strict mode what cites nothing is marked, too."""
        mark = UNSUPPORTED.get(self.language, UNSUPPORTED["en"]) if self.strict else ""
        parts = (each.gap + each.text + ("" if each.supported else mark) for each in self.sentences)
        return "".join(parts).strip()

    @property
    def cited(self) -> tuple[str, ...]:
        """Ids of all evidence that it cites, each once, in order."""
        return tuple(dict.fromkeys(id for each in self.sentences for id in each.cites))

    def __str__(self) -> str:
        """Return :attr:`text`."""
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values, its text among them."""
        return {"text": self.text, "cited": list(self.cited), **_plain(self)}


def _plain(value: Any) -> dict[str, Any]:
    """A dataclass as JSON has it: tuples become lists."""
    plain: dict[str, Any] = asdict(value, dict_factory=lambda pairs: {key: _listed(each) for key, each in pairs})
    return plain


def _listed(value: Any) -> Any:
    return [_listed(each) for each in value] if isinstance(value, tuple | list) else value
