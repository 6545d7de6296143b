"""The graph for training: environments, recorded patients, typed nodes and links; and work shared out to processes."""

from __future__ import annotations

ENVIRONMENTS = {
    "kgdx/Consult-v0": "kgdx.learn.environment:ConsultEnv",
    "kgdx/Diagnosis-v0": "kgdx.learn.diagnosis_env:DiagnosisEnv",
}
"""Name → class of the environments that :func:`gymnasium.make` makes."""


def register_environments() -> None:
    """Tell Gymnasium the names of the environments; Gymnasium calls it, by its entry point, when it is imported."""
    from gymnasium.envs.registration import register, registry

    consult, diagnosis = ENVIRONMENTS
    if consult not in registry:
        register(consult, entry_point=ENVIRONMENTS[consult])
        many = "kgdx.learn.diagnosis_env:DiagnosisVectorEnv"
        register(diagnosis, entry_point=ENVIRONMENTS[diagnosis], vector_entry_point=many, max_episode_steps=32)
