"""Makes the GET and INFER actions of DeepDoctor-RAG that are one template each, from the header of that template."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import Field

from kgdx.actions.entities import NameList
from kgdx.actions.inferring import DiseasesBy
from kgdx.actions.retrieving import OfDiseases
from kgdx.errors import StoreError
from kgdx.graph.templates import Template, templates
from kgdx.lazy import lazy_pattern

_ACTION = lazy_pattern(r"(?P<names>\w+(?:, \w+)*) of (?P<kind>\w+): (?P<purpose>.+)")


@cache
def classes() -> dict[str, type[OfDiseases | DiseasesBy]]:
    """Return the actions that headers state, by the names of their classes.

    Example:
        >>> sorted(classes())[:2], classes()["GetSymptom"](diseases=("百日咳", "pertussis")).limit
        (['GetCure', 'GetDrug'], 50)
    """
    made = [_class(each) for each in templates().values() if each.action]
    return {each.__name__: each for each in made}


def __getattr__(name: str) -> type[OfDiseases | DiseasesBy]:
    if name.startswith("_") or name not in classes():
        raise AttributeError(name)
    return classes()[name]


def _class(template: Template) -> type[OfDiseases | DiseasesBy]:
    said = _ACTION.fullmatch(template.action)
    if said is None:
        hint = "write `// action: name, other names of NodeClass: what it is for.`"
        raise StoreError(f"the action in the header of template {template.name} cannot be read", hint=hint)
    name, *others = said["names"].split(", ")
    aliases = (name.upper(), *others)
    stated: dict[str, Any] = {
        "__doc__": said["purpose"],
        "__module__": __name__,
        "name": name,
        "template": template.name,
    }
    title = name.title().replace("_", "")
    if "diseases" in template.parameters:
        aliases += (f"GET_{template.name.upper().replace('DISEASES', 'DISEASE')}",)
        return type(title, (OfDiseases,), stated | {"aliases": aliases, "gives": said["kind"]})
    (binds,) = (each for each, kind in template.parameters.items() if kind == "rows")
    takes = "diseases" if said["kind"] == "Disease" else binds
    stated |= {"aliases": (*aliases, template.name.upper()), "takes": takes, "binds": binds, "kinds": (said["kind"],)}
    called = {"cures": "Treatments in Chinese or English", "genes": "Symbols of genes"}.get(
        takes, f"{takes.capitalize()} in Chinese or English"
    )
    return type(
        title,
        (DiseasesBy,),
        stated | {"__annotations__": {takes: NameList}, takes: Field(description=f"{called}, or ids.")},
    )
