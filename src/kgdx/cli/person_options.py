"""Options that say who the patient is: age, sex, onset, inheritance, family and genes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from kgdx.case import About


@dataclass(frozen=True)
class PersonOptions:
    """What is known of the patient beside the findings."""

    age: Annotated[str | None, typer.Option(metavar="AGE", help="Now, such as 7, 3 months or P7Y3M.")] = None
    sex: Annotated[str | None, typer.Option(metavar="SEX", help="female or male.")] = None
    onset: Annotated[
        str | None, typer.Option(metavar="WHEN", help="Begin of the disease: an age, congenital, infantile, adult …")
    ] = None
    inheritance: Annotated[
        str | None, typer.Option(metavar="MODE", help="The mode that is suspected: AD, AR, XLR, XLD, XL, MT.")
    ] = None
    consanguineous: Annotated[
        bool | None,
        typer.Option(
            "--consanguineous/--not-consanguineous", help="Whether the parents are related.", show_default=False
        ),
    ] = None
    gene: Annotated[
        list[str] | None,
        typer.Option("--gene", metavar="SYMBOL", help="A gene with a candidate variant; can be repeated."),
    ] = None
    genes: Annotated[
        Path | None,
        typer.Option(
            "--genes", metavar="FILE", help="File of such genes: a list, an annotated VCF, Exomiser's or VEP's TSV."
        ),
    ] = None

    setting: Annotated[
        str | None,
        typer.Option(metavar="WHERE", help="Where the patient is seen: emergency, general, or referral."),
    ] = None

    def about(self) -> About:
        """Return what was given, checked before any graph is opened."""
        from kgdx.case import Case, with_person
        from kgdx.errors import UsageError

        if self.gene and self.genes:
            raise UsageError("both --gene and --genes are given", hint="put all genes into the file")
        given: About = {
            "age": self.age,
            "sex": self.sex,
            "onset": self.onset,
            "inheritance": self.inheritance,
            "consanguineous": self.consanguineous,
            "setting": self.setting,
            "genes": self.genes or [part for each in self.gene or () for part in each.split(",")],
        }
        with_person(Case(""), given)
        return given
