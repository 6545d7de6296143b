"""GA4GH phenopackets v2, read into cases and written from them (https://phenopacket-schema.readthedocs.io, v2.0)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, NoReturn

from kgdx.case.measured_values import Measurement
from kgdx.case.patient import QUALIFIERS, SEXES, Case, Finding, Issue, Status, valid
from kgdx.case.person import OLDEST, CandidateGene, merged, years_of
from kgdx.errors import CaseError
from kgdx.lazy import lazy_pattern

_SEXES = {sex + "_SEX" if sex in ("UNKNOWN", "OTHER") else sex: sex for sex in SEXES}
_UNDIAGNOSED = frozenset({"IN_PROGRESS", "UNSOLVED"})
"""``ProgressStatus`` of an interpretation whose disease is a suspicion, not a diagnosis."""
_NOT_CAUSATIVE = frozenset({"REJECTED", "CANDIDATE"})
"""``InterpretationStatus`` of a gene that is not held to cause the disease."""
_SUSPECTED = frozenset({"CANDIDATE", "UNKNOWN_STATUS"})
"""``InterpretationStatus`` of a gene that may cause it: evidence, where ``CAUSATIVE`` is a label."""
_ALLELES = {"GENO:0000135": "HETEROZYGOUS", "GENO:0000136": "BIALLELIC", "GENO:0000134": "HEMIZYGOUS"}
_ANTENATAL = "HP:0030674"
_STATES = {zygosity: {"id": id, "label": zygosity.lower()} for id, zygosity in _ALLELES.items()}
_HPO_ID = lazy_pattern(r"HP:\d{7}")
_PMID = lazy_pattern(r"(?:PMID[:_ ]\s*|pubmed(?:\.ncbi\.nlm\.nih\.gov)?/)(\d{1,9})", re.IGNORECASE)
SYNTHETIC = "kgdx:synthetic"
"""Id of the external reference that marks a packet as made up: the standard has no field for it."""
_CURIE = lazy_pattern(r"[A-Za-z][A-Za-z0-9.]*:\S+")
_LASTING = lazy_pattern(r"P(?:\d+[YMWD]|T\d+[HM])")
"""Since when a feature has been, which phenopackets have no field for: its description."""
_AGE = lazy_pattern(r"P(?=\d|T\d)(\d+Y)?(\d+M)?(\d+W)?(\d+D)?(T.*)?")

_UCUM = (("[iU]", "IU"), ("[IU]", "IU"), ("mm[Hg]", "mmHg"), ("Cel", "°C"), ("[degF]", "°F"), ("10*", "10^"))
_ANNOTATION = lazy_pattern(r"\{[^}]*\}")


def case_from_phenopacket(packet: object, where: str = "phenopacket") -> Case:
    """Read one phenopacket (already parsed from JSON) into a case.

    Entries that cannot be used (not an HPO term, wrong type) become issues; nothing is dropped in silence.
    """
    reader = _Reader(where)
    top = reader.object(packet, "phenopacket")
    features = reader.items(top, "phenotypicFeatures")
    measurements = tuple(_measurements(reader, top))
    if not features and not measurements:
        _refuse(where, "the phenopacket has no phenotypicFeatures", "add the patient's HPO terms, observed or excluded")
    findings = tuple(_findings(reader, features))
    if not findings and not measurements:
        _refuse(where, f"none of the {len(features)} phenotypicFeatures has a usable HPO id", _first(reader.issues))
    subject = reader.object(reader.get(top, "subject") or {}, "subject")
    identifier = reader.string(top, "id") or reader.string(subject, "id")
    sex = reader.string(subject, "sex") or "UNKNOWN_SEX"
    if sex not in _SEXES:
        reader.note("subject.sex", f"sex {sex[:40]!r} is not one of {', '.join(_SEXES)}", "read as unknown")
    named = list(_diseases(reader, top))
    labels = {disease: label for disease, label in named if label}
    return Case(
        id=identifier,
        findings=findings,
        sex=_SEXES.get(sex, "UNKNOWN"),
        age=_age(reader, subject),
        diseases=tuple(dict.fromkeys(identifier for identifier, _ in named)),
        publications=tuple(dict.fromkeys(_publications(reader, top, identifier))),
        genes=tuple(dict.fromkeys(_genes(reader, top))),
        onset=_onset(reader, top),
        gene_evidence=merged(_candidates(reader, top), source="phenopacket"),
        source="phenopacket",
        measurements=measurements,
        synthetic=any(reader.string(each, "id") == SYNTHETIC for each in _references(reader, top)),
        issues=tuple(reader.issues),
        extra={"disease_labels": labels} if labels else {},
    ).identified()


@cache
def _in_protobuf(key: str) -> str:
    return re.sub(r"[A-Z]", lambda found: "_" + found[0].lower(), key)


class _Reader:
    """Typed look-ups in untrusted JSON; a wrong type becomes an issue that names its place."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.issues: list[Issue] = []

    def note(self, path: str, message: str, remedy: str) -> None:
        self.issues.append(Issue("warning", f"{self.where}: {path}", message, remedy))

    def get(self, parent: Mapping[str, Any], key: str) -> Any:
        if key in parent:
            return parent[key]
        return parent.get(_in_protobuf(key))

    def object(self, value: object, path: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            _refuse(self.where, f"{path} is {_kind(value)}, not an object", "give a GA4GH phenopacket v2 in JSON")
        return value

    def child(self, parent: Mapping[str, Any], key: str, path: str = "") -> Mapping[str, Any]:
        value = self.get(parent, key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.note(f"{path}{key}", f"{key} is {_kind(value)}, not an object", "ignored")
            return {}
        return value

    def items(self, parent: Mapping[str, Any], key: str) -> list[Any]:
        value = self.get(parent, key)
        if value is None:
            return []
        if not isinstance(value, list):
            _refuse(self.where, f"{key} is {_kind(value)}, not a list", "give a GA4GH phenopacket v2 in JSON")
        return value

    def objects(self, parent: Mapping[str, Any], key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for number, value in enumerate(self.items(parent, key)):
            path = f"{key}[{number}]"
            if isinstance(value, dict):
                yield path, value
            else:
                self.note(path, f"{path} is {_kind(value)}, not an object", "ignored")

    def string(self, parent: Mapping[str, Any], key: str) -> str:
        value = self.get(parent, key)
        if isinstance(value, str):
            return valid(value).strip()
        if value is not None:
            self.note(key, f"{key} is {_kind(value)}, not a string", "ignored")
        return ""


def _findings(reader: _Reader, features: list[Any]) -> Iterator[Finding]:
    for number, feature in enumerate(features):
        path = f"phenotypicFeatures[{number}]"
        if not isinstance(feature, dict):
            reader.note(path, f"the feature is {_kind(feature)}, not an object", "ignored")
            continue
        if "negated" in feature:
            _refuse(reader.where, f"{path} says 'negated': this is a phenopacket v1", "convert it to v2 (`excluded`)")
        term = reader.child(feature, "type", f"{path}.")
        identifier, label = reader.string(term, "id"), reader.string(term, "label")
        if not _HPO_ID.fullmatch(identifier):
            reader.note(
                path, f"{identifier[:40] or label[:40]!r} is not an HPO id", "ignored; give an id like HP:0001250"
            )
            continue
        excluded = reader.get(feature, "excluded")
        if excluded not in (None, True, False):
            reader.note(path, f"excluded is {_kind(excluded)}, not true or false", "the feature was ignored")
            continue
        onset = reader.child(reader.child(feature, "onset", f"{path}."), "ontologyClass", f"{path}.onset.")
        yield Finding(
            identifier,
            Status.ABSENT if excluded else Status.PRESENT,
            label=label,
            text=label or identifier,
            onset=reader.string(onset, "id") or None,
            severity=reader.string(reader.child(feature, "severity", f"{path}."), "id"),
            modifiers=tuple(_modifiers(reader, feature, path)),
            since=lasting if _LASTING.fullmatch(lasting := reader.string(feature, "description")) else "",
        )


def _modifiers(reader: _Reader, feature: Mapping[str, Any], path: str) -> Iterator[str]:
    given = reader.get(feature, "modifiers") or ()
    for modifier in given if isinstance(given, list) else ():
        identifier = modifier.get("id") if isinstance(modifier, dict) else None
        if isinstance(identifier, str) and _HPO_ID.fullmatch(identifier):
            yield identifier
        else:
            reader.note(f"{path}.modifiers", "a modifier has no HPO id", "ignored")


def _measurements(reader: _Reader, top: Mapping[str, Any]) -> Iterator[Measurement]:
    for path, each in reader.objects(top, "measurements"):
        assay = reader.child(each, "assay", f"{path}.")
        label = reader.string(assay, "label")
        value = reader.child(each, "value", f"{path}.")
        quantity = reader.child(value, "quantity")
        said = reader.string(reader.child(value, "ontologyClass"), "label")
        number = reader.get(quantity, "value")
        measured = isinstance(number, int | float) and not isinstance(number, bool)
        if not label or not (measured or said):
            what = "has no label" if not label else "has no value that is read"
            called = label or reader.string(assay, "id")
            reader.note(
                path, f"the measurement {called[:60]!r} {what}", "ignored; give its label, a quantity and a unit"
            )
            continue
        if not measured:
            yield Measurement(label, said)
            continue
        limits = reader.child(quantity, "referenceRange")
        low, high = (_bound(reader.get(limits, end)) for end in ("low", "high"))
        yield Measurement(label, float(number), _unit(reader, reader.child(quantity, "unit")), low, high)


def _bound(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _unit(reader: _Reader, unit: Mapping[str, Any]) -> str:
    code = reader.string(unit, "id")
    if not code.upper().startswith("UCUM:"):
        return reader.string(unit, "label")
    written = _ANNOTATION.sub("", code[5:])
    for ucum, plain in _UCUM:
        written = written.replace(ucum, plain)
    return written


def _age(reader: _Reader, subject: Mapping[str, Any]) -> str | None:
    encounter = reader.child(subject, "timeAtLastEncounter", "subject.")
    age = reader.string(reader.child(encounter, "age"), "iso8601duration")
    if not age:
        low = reader.child(reader.child(encounter, "ageRange"), "start")
        age = reader.string(low, "iso8601duration")
    if age and not _AGE.fullmatch(age):
        reader.note("subject.timeAtLastEncounter", f"{age[:40]!r} is not an ISO 8601 duration such as P7Y3M", "ignored")
        return None
    if (years_of(age) or 0) > OLDEST:
        reader.note("subject.timeAtLastEncounter", f"{age[:40]!r} is no age of a human", "ignored")
        return None
    return age or None


def _onset(reader: _Reader, top: Mapping[str, Any]) -> str | None:
    for path, disease in reader.objects(top, "diseases"):
        onset = reader.child(disease, "onset", f"{path}.")
        term = reader.string(reader.child(onset, "ontologyClass"), "id")
        age = reader.string(reader.child(onset, "age"), "iso8601duration")
        if _HPO_ID.fullmatch(term):
            return term
        if age and _AGE.fullmatch(age):
            return age
        if reader.child(onset, "gestationalAge"):
            return _ANTENATAL
    return None


def _candidates(reader: _Reader, top: Mapping[str, Any]) -> Iterator[CandidateGene]:
    for path, interpretation in reader.objects(top, "interpretations"):
        diagnosis = reader.child(interpretation, "diagnosis", f"{path}.")
        for _, genomic in reader.objects(diagnosis, "genomicInterpretations"):
            if reader.string(genomic, "interpretationStatus") not in _SUSPECTED:
                continue
            variation = reader.child(reader.child(genomic, "variantInterpretation"), "variationDescriptor")
            gene = reader.child(variation, "geneContext") or reader.child(genomic, "gene")
            state = reader.string(reader.child(variation, "allelicState"), "id")
            id, symbol = reader.string(gene, "valueId"), reader.string(gene, "symbol")
            if id or symbol:
                yield CandidateGene(id or symbol, symbol, zygosity=_ALLELES.get(state, ""))


def _diseases(reader: _Reader, top: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for path, disease in reader.objects(top, "diseases"):
        term = reader.child(disease, "term", f"{path}.")
        identifier = reader.string(term, "id")
        if identifier and not reader.get(disease, "excluded"):
            yield identifier, reader.string(term, "label")
    for path, interpretation in reader.objects(top, "interpretations"):
        if reader.string(interpretation, "progressStatus") in _UNDIAGNOSED:
            continue
        diagnosis = reader.child(interpretation, "diagnosis", f"{path}.")
        term = reader.child(diagnosis, "disease", f"{path}.diagnosis.")
        identifier = reader.string(term, "id")
        if identifier:
            yield identifier, reader.string(term, "label")


def _references(reader: _Reader, top: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for _, reference in reader.objects(reader.child(top, "metaData"), "externalReferences"):
        yield reference


def _publications(reader: _Reader, top: Mapping[str, Any], identifier: str) -> Iterator[str]:
    for reference in _references(reader, top):
        for key in ("id", "reference"):
            for number in _PMID.findall(reader.string(reference, key)):
                yield f"PMID:{int(number)}"
    if found := _PMID.match(identifier):
        yield f"PMID:{int(found[1])}"


def _genes(reader: _Reader, top: Mapping[str, Any]) -> Iterator[str]:
    for path, interpretation in reader.objects(top, "interpretations"):
        diagnosis = reader.child(interpretation, "diagnosis", f"{path}.")
        for _, genomic in reader.objects(diagnosis, "genomicInterpretations"):
            if reader.string(genomic, "interpretationStatus") in _NOT_CAUSATIVE:
                continue
            variation = reader.child(reader.child(genomic, "variantInterpretation"), "variationDescriptor")
            gene = reader.child(variation, "geneContext") or reader.child(genomic, "gene")
            name = reader.string(gene, "valueId") or reader.string(gene, "symbol")
            if name:
                yield name


def case_to_phenopacket(
    case: Case, created: str | None = None, made_of: str = "made up, no real patient"
) -> dict[str, Any]:
    """Write a case as a phenopacket v2; reading it back gives the same case (text, spans and scores aside).

    Args:
        case: The case; what has no place in a phenopacket is left out: findings that are neither present nor absent,
            family, and the onset of what is not diagnosed.
        created: ISO 8601 time stamp for the metadata; now when ``None``.
        made_of: How a synthetic case came about, for the metadata.
    """
    stamp = created or datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    subject: dict[str, Any] = {
        "id": case.id,
        "sex": next(packed for packed, sex in _SEXES.items() if sex == case.sex),
    }
    if case.age:
        subject["timeAtLastEncounter"] = {"age": {"iso8601duration": case.age}}
    packet: dict[str, Any] = {"id": case.id, "subject": subject, "phenotypicFeatures": list(_features(case))}
    if case.diseases:
        packet["diseases"] = [{"term": {"id": disease, "label": ""}} for disease in case.diseases]
        if case.onset:
            packet["diseases"][0]["onset"] = _time(case.onset)
    if case.genes and case.diseases:
        packet["interpretations"] = [_interpretation(case)]
    if case.gene_evidence:
        packet.setdefault("interpretations", []).append(_suspicion(case))
    packet["metaData"] = {
        "created": stamp,
        "createdBy": "kgdx",
        "resources": [
            {
                "id": "hp",
                "name": "human phenotype ontology",
                "namespacePrefix": "HP",
                "iriPrefix": "http://purl.obolibrary.org/obo/HP_",
                "url": "http://purl.obolibrary.org/obo/hp.owl",
                "version": "unknown",
            }
        ],
        "phenopacketSchemaVersion": "2.0",
        "externalReferences": [{"id": publication} for publication in case.publications],
    }
    if case.synthetic:
        packet["metaData"]["externalReferences"].append({"id": SYNTHETIC, "description": made_of})
    return packet


def _features(case: Case) -> Iterator[dict[str, Any]]:
    for finding in case.findings:
        if finding.status not in (Status.PRESENT, Status.ABSENT):
            continue
        feature: dict[str, Any] = {"type": {"id": finding.id, "label": finding.label}}
        if finding.status is Status.ABSENT:
            feature["excluded"] = True
        if finding.onset:
            feature["onset"] = {"ontologyClass": {"id": finding.onset, "label": ""}}
        if finding.severity:
            feature["severity"] = {"id": finding.severity, "label": QUALIFIERS.get(finding.severity, "")}
        if finding.modifiers:
            feature["modifiers"] = [{"id": id, "label": QUALIFIERS.get(id, "")} for id in finding.modifiers]
        if finding.since:
            feature["description"] = finding.since
        yield feature


def _interpretation(case: Case) -> dict[str, Any]:
    return {
        "id": f"{case.id}-interpretation",
        "progressStatus": "SOLVED",
        "diagnosis": {
            "disease": {"id": case.diseases[0], "label": ""},
            "genomicInterpretations": [
                {
                    "subjectOrBiosampleId": case.id,
                    "interpretationStatus": "CAUSATIVE",
                    "gene": {"valueId": gene, "symbol": gene if not _CURIE.fullmatch(gene) else ""},
                }
                for gene in case.genes
            ],
        },
    }


def _suspicion(case: Case) -> dict[str, Any]:
    assert case.gene_evidence is not None
    genomic = []
    for gene in case.gene_evidence.genes:
        variation: dict[str, Any] = {
            "id": gene.id,
            "geneContext": {"valueId": gene.id, "symbol": gene.name or ("" if _CURIE.fullmatch(gene.id) else gene.id)},
        }
        if gene.zygosity:
            variation["allelicState"] = _STATES[gene.zygosity]
        genomic.append(
            {
                "subjectOrBiosampleId": case.id,
                "interpretationStatus": "CANDIDATE",
                "variantInterpretation": {"variationDescriptor": variation},
            }
        )
    return {
        "id": f"{case.id}-candidates",
        "progressStatus": "IN_PROGRESS",
        "diagnosis": {"genomicInterpretations": genomic},
    }


def _time(onset: str) -> dict[str, Any]:
    if _HPO_ID.fullmatch(onset):
        return {"ontologyClass": {"id": onset, "label": ""}}
    return {"age": {"iso8601duration": onset}}


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _first(issues: list[Issue]) -> str:
    return f"{issues[0].message}; {issues[0].remedy}"


def _refuse(where: str, message: str, hint: str) -> NoReturn:
    raise CaseError(f"{where}: {message}", hint=hint)
