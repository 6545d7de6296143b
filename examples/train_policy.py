"""Train an agent that chooses what to ask, by MaskablePPO, on the environment of withheld diagnoses.

    pip install "kgdx[environment]" sb3-contrib
    python examples/train_policy.py GRAPH cases.jsonl split.json --steps 200000 --out agent.zip

GRAPH holds patients, cases.jsonl states diagnoses and publications, split.json is of `kgdx split`. Compare the agent
with fixed plans by `python -m benchmarks.policy GRAPH cases.jsonl --split split.json --agent agent.zip`.
"""

from __future__ import annotations

import argparse

import gymnasium
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

import kgdx
import kgdx.learn.environment  # registers the names
from kgdx.case.splits import Split
from kgdx.learn.recorded_cases import RecordedCases, unseen


def main() -> None:
    """Train, and show an episode of a patient of the training side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("cases")
    parser.add_argument("split")
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--price", type=float, default=0.005, help="of a question")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="agent.zip")
    options = parser.parse_args()
    with kgdx.open(options.graph) as graph:
        given = [case for case in kgdx.read_cases(options.cases) if isinstance(case, kgdx.Case)]
        trained = unseen(graph.ranker, graph.snapshot, Split.read(options.split).only(given, "train"))
        cases = RecordedCases.of(graph, trained, known=2)

        def made() -> gymnasium.Env:
            return Monitor(gymnasium.make("kgdx/Diagnosis-v0", graph=graph, cases=cases, price=options.price))

        model = MaskablePPO(
            "MlpPolicy",
            DummyVecEnv([made] * 8),
            n_steps=256,
            batch_size=512,
            ent_coef=0.01,
            seed=options.seed,
            verbose=1,
        )
        model.learn(options.steps)
        model.save(options.out)

        env = gymnasium.make("kgdx/Diagnosis-v0", graph=graph, cases=cases, price=options.price, render_mode="ansi")
        observed, _ = env.reset(seed=options.seed)
        ended = cut = False
        while not ended and not cut:
            action, _ = model.predict(observed, action_masks=get_action_masks(env), deterministic=True)
            print(env.render(), "\n->", action)
            observed, reward, ended, cut, _ = env.step(action)
        print("worth", reward)


if __name__ == "__main__":
    main()
