"""The episode: a policy wishes, the world does it, the log remembers; the state is a fold of the log."""

from __future__ import annotations

from kgdx.episode.loop import Episode, advance, answered, begin, run, run_many, settle, step
from kgdx.episode.operations import Operations
from kgdx.episode.policy import POLICIES, Capabilities, Policy, Script, make_policy
from kgdx.episode.resume import Replayed, policy_of, replay, resume
from kgdx.episode.segment import Author, Kind, Operation, Segment, dump, load, spent
from kgdx.episode.state import Artifact, Limits, State
from kgdx.episode.wish import ACTIONS, Action, AskModel, AskPatient, Outcome, Remark, Reply, Wish
from kgdx.episode.world import Patient, World

__all__ = ["ACTIONS", "POLICIES", "Action", "Artifact", "AskModel", "AskPatient", "Author", "Capabilities", "Episode"]
__all__ += ["Kind", "Limits", "Operation", "Operations", "Outcome", "Patient", "Policy", "Remark", "Replayed", "Reply"]
__all__ += ["Script", "Segment", "State", "Wish", "World", "advance", "answered", "begin", "dump", "load"]
__all__ += ["make_policy", "policy_of", "replay", "resume", "run", "run_many", "settle", "spent", "step"]
