"""Policies: who decides what happens next in an episode. A new method is a new policy, in a file."""

from __future__ import annotations

from kgdx.episode.policy import POLICIES, Capabilities, Policy, Script, make_policy
from kgdx.policies.fixed import FixedPolicy

__all__ = ["POLICIES", "Capabilities", "FixedPolicy", "Policy", "Script", "make_policy"]
