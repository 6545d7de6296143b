"""A policy that was trained on the graph: a small network scores what could be done next, and the best is done.

It asks where there is somebody to ask; without a patient it searches, matches and diagnoses. The network is read from a
checkpoint; that which kgdx ships was trained on recorded patients, and its card says on which.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kgdx.actions.considering import Considerable, Considered
from kgdx.episode.policy import Capabilities
from kgdx.errors import StoreError
from kgdx.policies.choice_network import RETRAIN, opened
from kgdx.policies.listed import ListedPolicy


class LearnedPolicy(ListedPolicy):
    """Do what a trained network scores best, until that is to diagnose.

    Example:
        >>> from kgdx.case import Case
        >>> from kgdx.episode.state import State
        >>> LearnedPolicy(patient=True).choose(State(Case("p"))).name
        'ask_patient'
    """

    name: ClassVar[str] = "learned"
    capabilities: ClassVar[Capabilities] = Capabilities(may_ask=True)

    checkpoint: str = ""
    """File of the network, from ``kgdx learn policy``; that which kgdx ships where empty."""

    @property
    def trained_by(self) -> str:
        """Digest of the split that the checkpoint was trained by."""
        return str(opened(self.checkpoint).card.get("split", ""))

    def chosen(self, told: Considered, asked: int = 0) -> Considerable:
        """Return the choice of the greatest score among those that can be done.

        Raises:
            StoreError: The checkpoint cannot be used, or was trained on another ontology.
        """
        network = opened(self.checkpoint)
        if network.card.get("ontology", told.ontology) != told.ontology:
            what = (
                f"the policy was trained on findings below {network.card['ontology']}, the graph's are {told.ontology}"
            )
            raise StoreError(what, hint=RETRAIN)
        able = self.able(told, asked)
        logits = network.logits(np.array([each.features for each in able], np.float32))
        return able[int(logits.argmax())]
