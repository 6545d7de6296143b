"""Adds the scorers up: each is standardised over the candidates of the query, weighted, and summed.

Sums of standard scores keep how far a candidate stands out, which fusion by rank throws away (Wu and McClean,
Information Retrieval 2006, compare the two).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, sqrt
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, PositiveFloat, PositiveInt, ValidationError

from kgdx.arrays.sparse import Floats
from kgdx.errors import ConfigError, UsageError
from kgdx.rank.scorers import Scorer
from kgdx.resources import resource

FLOOR = -8.0
"""Standard scores below this are cut."""

Reference = Annotated[str, Field(min_length=1)]
"""How a number was found, or where it is from."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Weight(_Part):
    """A scorer's weight, and how it was found."""

    weight: FiniteFloat
    reference: Reference


class Posterior(_Part):
    """How scores become shares: the temperature by number of present findings, and how many candidates lead."""

    temperature: Annotated[dict[PositiveInt, PositiveFloat], Field(min_length=1)]
    leaders: PositiveInt
    reference: Reference


class Weights(_Part):
    """What each scorer weighs; the scorers that have a weight are those that are used.

    Example:
        >>> Weights.read().of("likelihood")
        1.0
    """

    version: Annotated[Literal["kgdx.weights/1"], Field(alias="schema")] = "kgdx.weights/1"
    scorers: Annotated[dict[str, Weight], Field(min_length=1)]
    posterior: Posterior

    @classmethod
    def read(cls, given: Weights | Mapping[str, float] | str | Path | None = None) -> Weights:
        """Return weights.

        Args:
            given: A file like ``ranking/weights.yaml``, which is read by default, or scorer → weight, with the rest
                of that file.

        Raises:
            ConfigError: The file cannot be read, or is not of that form.
            UsageError: A weight that is given is no finite number.

        Example:
            >>> Weights.read({"likelihood": 1, "coverage": 0.5}).of("coverage")
            0.5
        """
        if isinstance(given, Weights):
            return given
        if isinstance(given, Mapping):
            try:
                scorers = {
                    name: Weight(weight=weight, reference="given by the caller") for name, weight in given.items()
                }
                return cls(scorers=scorers, posterior=cls.read().posterior)
            except ValidationError as error:
                raise UsageError(f"weights of scorers: {_first(error)}", hint="give each scorer one number") from error
        path = resource("ranking", "weights.yaml") if given is None else Path(given)
        try:
            return cls.model_validate(_yaml(path))
        except (OSError, ValueError) as error:
            why = _first(error) if isinstance(error, ValidationError) else str(error)
            raise ConfigError(f"{path} cannot be read as weights ({why})", hint="see ranking/weights.yaml") from error

    def of(self, name: str) -> float:
        """Return the weight of a scorer.

        Raises:
            UsageError: It has none.
        """
        if name not in self.scorers:
            others = ", ".join(sorted(self.scorers))
            raise UsageError(f"the scorer {name[:40]} has no weight", hint=f"weighed are {others}")
        return self.scorers[name].weight


def _yaml(path: Path) -> Any:
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


@dataclass(frozen=True, slots=True)
class Scale:
    """How one scorer's values become parts of the score: part = weight · (value − mean) / deviation."""

    mean: float
    deviation: float
    weight: float

    def part(self, value: Floats) -> Floats:
        """Return the parts of the fused score.

        Example:
            >>> Scale(mean=1.0, deviation=2.0, weight=0.5).part(np.array([3.0, -99.0])).tolist()
            [0.5, -4.0]
        """
        return self.weight * np.maximum((value - self.mean) / self.deviation, FLOOR)


def scale(scorer: Scorer, values: Floats, weight: float, size: int) -> Scale:
    """Return the scale of one scorer's values in this query.

    Args:
        scorer: Says whether its values are standardised.
        values: Those of all candidates.
        weight: The scorer's weight.
        size: Number of candidates.

    Raises:
        UsageError: There is not one value for each candidate, or one is not a finite number.
    """
    if values.shape != (size,):
        what = f"the scorer {scorer.name} gives scores of shape {values.shape}, not {(size,)}"
        raise UsageError(what, hint="mend its method `score`")
    mean = float(values.mean())
    if not isfinite(mean):
        raise UsageError(f"the scorer {scorer.name} gives scores that are not finite", hint="mend its method `score`")
    if not scorer.standardised:
        return Scale(0.0, 1.0, weight)
    deviation = sqrt(float(np.square(values - np.float32(mean)).mean()))
    return Scale(mean, deviation if deviation > 1e-9 else 1.0, weight)


def fused(values: Mapping[str, Floats], scales: Mapping[str, Scale]) -> Floats:
    """Return the sum of all parts; shape (candidates,)."""
    total = sum(scales[name].part(value) for name, value in values.items())
    return np.asarray(total, np.float32)
