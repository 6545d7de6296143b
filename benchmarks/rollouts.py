"""One whole rollout of each face of the environment, printed: listed actions, calls, tags. No model is needed.

    python -m benchmarks.rollouts STORE [--cases FILE] [--case ID] [--face gymnasium|calls|tags]

All three meet one recorded patient. Of the listed actions, one of each kind is chosen before the diagnosis; calls and
tags are written by a script that knows the answer, so that the rewards are those of an honest agent.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path

import numpy as np

import kgdx
from benchmarks.environment import DATA, usable
from kgdx.api import Graph
from kgdx.case import Case
from kgdx.episode.conversation import spans
from kgdx.errors import CaseError, KgdxError
from kgdx.learn.diagnosis_env import DiagnosisEnv
from kgdx.learn.recorded_cases import RecordedCases
from kgdx.policies.tags import TagsPolicy
from kgdx_train.adversaries import SCRIPTS, Known, Writer
from kgdx_train.rewards import reward
from kgdx_train.rollouts import TagRollouts
from kgdx_train.tool_environment import tool_environment

MATCHED = 4
"""Findings that the scripts match with."""
SEED = 1
"""Of what is told at first."""
CHOSEN = ("round", "round", "lookup", "diagnose")
"""What is chosen of the listed actions: the first of its kind that the mask allows."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", nargs="?", help="graph folder; the default graph without it")
    parser.add_argument("--cases", type=Path, default=DATA / "phenopackets-dev.jsonl.gz")
    parser.add_argument("--case", help="id of the case; the first one without it")
    parser.add_argument("--face", choices=FACES, help="one face alone")
    options = parser.parse_args(arguments)
    try:
        with kgdx.open(options.store) as graph:
            found = (case for case in usable(options.cases) if options.case in (None, case.id))
            case = next(islice(found, 1), None)
            if case is None:
                raise CaseError(f"no usable case {options.case or ''} in {options.cases}", hint="choose another")
            for face in [options.face] if options.face else FACES:
                print(f"== {face}: {case.id}")
                print(FACES[face](graph, case))
    except KgdxError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def listed(graph: Graph, case: Case) -> str:
    """Return an episode of listed choices: place, choice, what it was worth; and what can be seen in the end."""
    env = DiagnosisEnv(graph=graph, cases=[case], render_mode="ansi")
    env.reset(seed=SEED)
    names, terms = graph.ranker.names, graph.ranker.terms
    lines = []
    for kind in CHOSEN:
        offered = env.offered
        place = next(at for at in np.flatnonzero(env.action_masks()).tolist() if offered.choice(0, at).kind == kind)
        choice = offered.choice(0, place)
        about = ", ".join(names.label(terms[each]) for each in choice.terms)
        _, worth, *_, info = env.step(np.int64(place))
        lines.append(f"{place:3} {kind:9} {about:60.60} {worth:+.3f}".rstrip())
    return "\n".join([*lines, f"ended: {info['reason']}"])


def calls(graph: Graph, case: Case) -> str:
    """Return an episode by tool calls, as a model that is trained by TRL makes them."""
    ward = RecordedCases.of(graph, [case], known=None)
    tools, right = tool_environment(ward)(), ward.truth(case.id).names[0]
    lines = [tools.reset(case=case.id).strip()]
    names = [each.label for each in ward.start(case.id).case.findings if each.id in case.observed][:MATCHED]
    for act, given in (("match", names), ("lookup", [right]), ("search", [right]), ("diagnose", [right])):
        lines += [f">>> {act}({given})", getattr(tools, act)(given)]
    return "\n".join([*lines, f"reward {tools.get_reward():.2f}"])


def tags(graph: Graph, case: Case) -> str:
    """Return an episode in tags, each block with who wrote it, and the reasons of its reward."""
    ward = RecordedCases.of(graph, [case], known=None)
    truth = ward.truth(case.id)
    names = tuple(each.label for each in ward.start(case.id).case.findings if each.id in case.observed)[:MATCHED]
    writer = Writer(SCRIPTS["honest"](Known(truth.names[0], "Gout", names)))
    [episode] = TagRollouts(ward).run(writer, TagsPolicy(top=0, explain=0), [case.id])
    said = [("model" if each.own else "graph", each.text.strip()) for each in spans(episode.log)]
    blocks = [f"{who}  " + words.replace("\n", "\n       ") for who, words in said if words]
    return "\n".join([*blocks, f"reward {reward(episode.log, truth)}"])


FACES: Mapping[str, Callable[[Graph, Case], str]] = {"gymnasium": listed, "calls": calls, "tags": tags}

if __name__ == "__main__":
    sys.exit(main())
