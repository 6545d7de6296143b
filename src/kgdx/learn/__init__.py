"""Training on the graph: embeddings, policies and language models. Only this room imports torch."""

from __future__ import annotations

ENVIRONMENTS = {
    "kgdx/Consult-v0": "kgdx.learn.environment:ConsultEnv",
    "kgdx/Diagnosis-v0": "kgdx.learn.listed_environment:DiagnosisEnv",
}
"""Name → class of the environments that :func:`gymnasium.make` makes."""


def register_environments() -> None:
    """Tell Gymnasium the names of the environments; Gymnasium calls it, by its entry point, when it is imported."""
    from gymnasium.envs.registration import register, registry

    for name, place in ENVIRONMENTS.items():
        if name not in registry:
            register(name, entry_point=place)
