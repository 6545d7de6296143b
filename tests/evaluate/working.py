"""An evaluation in a process of its own, to be killed: ``python -m evaluate.working URL FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

from evaluate.asking import from_evidence, questions
from kgdx.config import LlmAccess
from kgdx.evaluate.answer_pairs import PairedEvaluation
from kgdx.evaluate.judges import ModelJudge
from kgdx.llm.connect import connect


def main(url: str, out: str) -> None:
    Path(out).mkdir(exist_ok=True)
    model = connect(LlmAccess("right", url), cache=Path(out) / "answers.sqlite")
    judge = connect(LlmAccess("judge", url), cache=Path(out) / "answers.sqlite")
    PairedEvaluation(model, from_evidence, ModelJudge(judge)).run(questions(6), Path(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
