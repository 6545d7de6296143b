"""Documents for pages: of a small diagnosis made by hand, of large ones, and of an answer."""

from __future__ import annotations

from typing import Any

from render.terminal.examples import DIAGNOSIS

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`&{{7*7}}"
"""What must come out as it went in, wherever it stands."""


def small() -> dict[str, Any]:
    """The diagnosis that the terminal's tests use, with sources and a trace."""
    document = DIAGNOSIS.to_dict()
    document["sources"] = [
        {
            "id": "hpoa",
            "version": "2025-01-16",
            "licence": "https://hpo.jax.org/app/license",
            "citation": "Gargano 2024",
        }
    ]
    document["trace"] = [
        {"author": "policy", "kind": "action", "name": "rank", "parameters": {"top": 10}},
        {
            "author": "graph",
            "kind": "query",
            "name": "evidence_supporting",
            "rows": 4,
            "digest": "ab12",
            "milliseconds": 3,
        },
    ]
    return document


def english() -> dict[str, Any]:
    """The same of a patient who is not described in Chinese."""
    document = small()
    document["case"]["language"] = None
    for each in document["case"]["findings"]:
        each["text"] = each["label"]
    return document


def finding(number: int, name: str = "Finding", status: str = "present") -> dict[str, Any]:
    return {"id": f"HP:{number:07d}", "label": f"{name} {number}", "status": status, "text": name.lower()}


def path(kind: str, at: int, disease: str, *between: tuple[str, bool]) -> dict[str, Any]:
    """A path of a kind; ``between`` are further terms, each with whether the path goes down to it."""
    term = {"id": f"HP:{at:07d}", "label": "Phenotype", "name": f"Finding {at} with a name of some length"}
    nodes = [] if kind == "typical_unmentioned" else [{"id": "p", "label": "PatientCase", "name": "patient"}]
    first = {"supports": "OBSERVED", "against": "EXCLUDED"}.get(kind)
    nodes.append(term)
    relations: list[dict[str, Any]] = [{"type": first}] if first else []
    for name, down in between:
        nodes.append({"id": f"HP:{name}", "label": "Phenotype", "name": name})
        relations.append({"type": "IS_A", "reversed": down})
    nodes.append({"id": disease, "label": "Disease", "name": f"Disease {disease}"})
    relations.append({"type": "HAS_PHENOTYPE", "reversed": True, "properties": {"source": "hpoa"}})
    return {
        "kind": kind, "finding": term["id"], "frequency": "3 of 5", "references": [f"PMID:{at}"],
        "nodes": nodes, "relations": relations,
    }  # fmt: skip


def large(paths: int = 200, candidates: int = 1) -> dict[str, Any]:
    """A diagnosis with so many paths to its first candidate, half of them by way of a shared ancestor."""
    ids = [f"OMIM:{100000 + number}" for number in range(candidates)]
    kinds = ("supports", "supports", "supports", "against", "typical_unmentioned")
    found = [
        path(kinds[at % 5], at, ids[0], *([(f"up{at // 8}", False), (f"down{at}", True)] if at % 2 else []))
        for at in range(paths)
    ]
    findings = [finding(at, status="absent" if at % 5 == 3 else "present") for at in range(paths) if at % 5 != 4]
    parts = [
        {"finding": each["id"], "status": each["status"], "parts": {scorer: value}, "score": value, "rule": "exact"}
        for value, each in (((1 + at % 7) / 10, each) for at, each in enumerate(findings))
        for scorer in ("likelihood", "coverage")
    ]
    ranked = [
        {
            "rank": rank, "id": id, "name": f"Disease {id}", "members": [id], "score": 9.0 - rank / candidates,
            "parts": {"likelihood": 5.0, "coverage": 4.0}, "contributions": parts if rank == 1 else parts[:2],
        }
        for rank, id in enumerate(ids, 1)
    ]  # fmt: skip
    return {
        "schema": "kgdx.diagnosis/3", "notice": "Not a medical device.", "id": "run:1", "n_candidates": 12_000,
        "case": {"id": "p", "sex": "FEMALE", "age": "P4Y", "findings": findings},
        "candidates": ranked, "evidence": {ids[0]: found}, "issues": [],
    }  # fmt: skip


def answer() -> dict[str, Any]:
    """An answer in Chinese and English, with evidence that is cited and that is not."""
    flu = {"id": "KGDX:zh.1", "label": "Disease", "name": "百日咳"}
    return {
        "schema": "kgdx.answer/3", "notice": "Not a medical device.", "id": "run:2", "question": "百日咳用什么药?",
        "policy": "planner", "model": "some-model", "reason": "answered",
        "answer": {
            "text": "", "language": "zh", "author": "some-model", "strict": True, "unsupported": 1, "removed": ["E9"],
            "sentences": [
                {"text": "百日咳的推荐药物有红霉素[E1]。", "cites": ["E1"], "gap": ""},
                {"text": "Cough is a symptom [E2, E7].", "cites": ["E2"], "gap": "\n\n"},
                {"text": "It passes by itself.", "cites": [], "supported": False},
            ],
        },
        "pack": {
            "items": [
                {"id": "E1", "kind": "relation", "text": "t", "language": "zh", "subject": flu,
                 "relation": "RECOMMEND_DRUG", "objects": [{"id": "D1", "label": "Drug", "name": "红霉素"}],
                 "sources": ["zh"], "references": ["PMID:25792522"], "action": "get_drug"},
                {"id": "E2", "kind": "relation", "text": "t", "subject": flu, "relation": "HAS_SYMPTOM",
                 "objects": [{"id": "S1", "label": "Symptom", "name": "Cough"}], "sources": ["zh"]},
                {"id": "E3", "kind": "description", "text": "An infection.", "subject": flu, "sources": ["zh"]},
            ],
            "diseases": [
                {"id": "KGDX:zh.1", "names": ["百日咳", "pertussis"], "text": "急性呼吸道传染病", "source": "zh",
                 "mesh": {"id": "MESH:D014917", "heading": "Whooping Cough", "scope_note": "A respiratory infection.",
                          "tree_numbers": ["C01.150.252.400.625"], "relation": "exact", "method": "exact", "score": 1.0,
                          "origin": "name", "decision": {"reason": "its name is a synonym"}}},
            ],
            "citations": [{"id": "PMID:25792522", "title": "On cough", "authors": ["Doe J"], "year": "2020"}],
            "resolved": [{"given": "百日咳", "ids": ["KGDX:zh.1"], "names": ["百日咳"], "method": "exact",
                          "score": 1.0}],
            "nothing": [{"action": "get_test", "names": ["百日咳"]}], "left_out": {"get_symptom": 4},
        },
        "rounds": [
            {"round": 1, "thought": "", "refused": ["an eleventh action"],
             "steps": [{"action": "get_drug", "parameters": {"diseases": ["百日咳"]}, "rows": 2, "milliseconds": 3.2},
                       {"action": "get_test", "parameters": {}, "error": "no disease is given"}]},
        ],
        "usage": {"calls": 2, "prompt_tokens": 1200, "completion_tokens": 80}, "issues": [
            {"level": "warning", "where": "plan", "message": "an action was refused", "remedy": "the others were done"}
        ],
        "trace": [{"author": "tool", "kind": "prompt", "name": "some-model", "parameters": {"prompt": "plan@1"}}],
    }  # fmt: skip


def spoilt(value: Any) -> Any:
    """A document whose every name, label and text is hostile; what names its form or gives an id is left."""
    if isinstance(value, dict):
        kept = ("schema", "kind", "status", "level", "id", "finding", "type", "author", "cites")
        return {
            key: inner if key in kept and not isinstance(inner, dict) else spoilt(inner) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [spoilt(inner) for inner in value]
    return HOSTILE if isinstance(value, str) else value
