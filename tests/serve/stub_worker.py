"""A worker that does as it is told: its requests are `sleep`, `die`, `break`, `tell`, or anything else."""

from __future__ import annotations

import json
import os
import sys
import time

from kgdx.serve.worker import CANCEL, EVENT, PROBLEM, READY, RESULT, frame, read


def say(kind: int, document: object) -> None:
    sys.stdout.buffer.write(frame(kind, json.dumps(document).encode()))
    sys.stdout.buffer.flush()


PROBLEM_DOCUMENT = {"status": 422, "kind": "case", "detail": "no", "hint": "", "more": {}, "headers": {}}

first = read(sys.stdin.buffer)
assert first is not None
opening = json.loads(first[1])
if opening.get("refuse") and not os.path.exists(opening["refuse"]):
    say(PROBLEM, {**PROBLEM_DOCUMENT, "status": 503, "detail": "no graph"})
    sys.exit()
say(READY, {"fingerprint": "f"})
while (asked := read(sys.stdin.buffer)) is not None:
    if asked[0] == CANCEL:
        continue
    request = json.loads(asked[1])
    match request["operation"]:
        case "sleep":
            time.sleep(request["given"]["lasting"])
        case "ready" if opening.get("hangs") and os.path.exists(opening["hangs"]):
            time.sleep(60)
        case "die":
            os._exit(9)
        case "break":
            os.write(1, b"\xff" * 64)
        case "refuse":
            say(PROBLEM, PROBLEM_DOCUMENT)
            continue
        case "tell":
            say(EVENT, {"event": "text", "data": "one"})
    say(RESULT, {"process": os.getpid(), "operation": request["operation"]})
