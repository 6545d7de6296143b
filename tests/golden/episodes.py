"""Twenty episodes whose logs are kept: each is played from its beginning, or gone on with from a log."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kgdx.api import Graph
from kgdx.case import Case, Finding, Status
from kgdx.episode import Episode, Segment
from kgdx.episode.policy import make_policy
from kgdx.episode.recorded_patient import SimulatedPatient
from llm.server import Body, Say, Script
from policies.conftest import behind


class Opened(NamedTuple):
    """The graphs that episodes are played on."""

    tiny: Graph
    default: Graph


Log = Iterable[Segment] | None
Play = Callable[[Opened, Log], Episode]

SEIZURE, HYPOTONIA, SHORT, FEVER = "HP:0001250", "HP:0001252", "HP:0004322", "HP:0001945"
RECORDED = Case("p", (Finding(SEIZURE), Finding(HYPOTONIA), Finding(SHORT, Status.ABSENT)))
MARFAN = Case("m", tuple(Finding(each) for each in ("HP:0001519", "HP:0001083", "HP:0002616")))


def episode(
    policy: str, case: Any = None, question: str = "", *, on: str = "tiny", patient: Case | None = None
) -> Play:
    """An episode that no model takes part in."""

    def play(opened: Opened, log: Log) -> Episode:
        graph: Graph = getattr(opened, on)
        told = None if patient is None else SimulatedPatient(patient, graph.ancestry)
        return graph.episode(case, policy=make_policy(policy), question=question, patient=told, log=log)

    return play


def with_model(policy: str, script: Callable[[], Script], case: Any = None, question: str = "") -> Play:
    """An episode in which a model takes part that says what a script says."""

    def play(opened: Opened, log: Log) -> Episode:
        with behind(script()) as (model, _):
            return opened.tiny.episode(case, policy=make_policy(policy), question=question, model=model, log=log)

    return play


def tags() -> Script:
    parts = [
        "<think>first</think><lookup>Tiny epilepsy syndrome 1</lookup>",
        "<think>then</think><search>seizure</search>",
        "<think>so</think><diagnose>\\textbf{Tiny epilepsy syndrome 1}</diagnose>",
    ]

    def script(body: Body, number: int) -> Say:
        last = body["messages"][-1]
        done = sum(last["content"].count(f"</{each}>") for each in ("lookup", "search")) * (last["role"] == "assistant")
        return Say(parts[min(done, 2)])

    return script


def plans() -> Script:
    plan = {"thought": "look", "actions": [{"action": "recognise", "text": "seizures"}]}

    def script(body: Body, number: int) -> Say:
        planning = "# Your choice" in body["messages"][-1]["content"]
        return Say(json.dumps(plan) if planning else "Seizures are recorded[E1].")

    return script


EPISODES: dict[str, Play] = {
    "fixed_text": episode("fixed", "seizures and hypotonia, no short stature"),
    "fixed_explained": episode("fixed:top=3,explain=2", RECORDED),
    "fixed_chinese": episode("fixed", "患儿有癫痫发作，无发热。"),
    "fixed_default": episode("fixed:top=5,explain=1", "ataxia and telangiectasia, no seizures", on="default"),
    "rounds": episode("rounds", RECORDED),
    "rounds_words": episode("rounds", "患儿肌张力减低，无发热。"),
    "rounds_default": episode("rounds", MARFAN, on="default"),
    "inquiry": episode("inquiry:certain=1.0,questions=4", "seizures", patient=RECORDED),
    "inquiry_medkgi": episode("inquiry:selector=medkgi,certain=1.0,questions=4", "seizures", patient=RECORDED),
    "inquiry_degree": episode("inquiry:selector=degree,certain=1.0,questions=4", "hypotonia", patient=RECORDED),
    "inquiry_default": episode("inquiry:certain=1.0,questions=3", "tall stature", on="default", patient=MARFAN),
    "doctor_by_rules": episode("doctor_by_rules:certain=1.0,questions=4", "seizures", patient=RECORDED),
    "rules_diseases": episode("rules", question="Which diseases have seizures?"),
    "rules_symptoms": episode("rules", question="What are the symptoms of Tiny epilepsy syndrome 1?"),
    "rules_chinese": episode("rules", question="癫痫发作见于哪些疾病？"),
    "rules_case": episode("rules", RECORDED, "Which disease fits?"),
    "rules_default": episode("rules", question="Which genes are associated with Marfan syndrome?", on="default"),
    "rules_drugs": episode("rules", question="Which drugs treat Tiny epilepsy syndrome 1?"),
    "tags": with_model("tags", tags, RECORDED),
    "planner": with_model("planner", plans, question="Which diseases have seizures?"),
}
