"""What the Human Phenotype Ontology's frequency classes mean: HP:0040280 to HP:0040285, as their definitions say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class FrequencyClass:
    """A class of frequency; ``share`` (0 to 1) is the middle of its range."""

    name: str
    range: str
    share: float

    def __str__(self) -> str:
        """Return its name and range.

        Example:
            >>> str(FREQUENCIES["HP:0040281"])
            'very frequent (80-99%)'
        """
        return f"{self.name} ({self.range})"


EXCLUDED = "HP:0040285"
"""The class of what occurs in no patient: an annotation with it states an absence."""

FREQUENCIES: Mapping[str, FrequencyClass] = MappingProxyType(
    {
        "HP:0040280": FrequencyClass("obligate", "100%", 1.0),
        "HP:0040281": FrequencyClass("very frequent", "80-99%", 0.9),
        "HP:0040282": FrequencyClass("frequent", "30-79%", 0.55),
        "HP:0040283": FrequencyClass("occasional", "5-29%", 0.17),
        "HP:0040284": FrequencyClass("very rare", "1-4%", 0.025),
        EXCLUDED: FrequencyClass("excluded", "0%", 0.0),
    }
)
"""Term → what it means."""
