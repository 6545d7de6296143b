"""A question to the graph in Python: the answer, and the evidence that each of its sentences rests on.

Run `kgdx build` once, then `python examples/question.py`; a question of yours can follow.
"""

from __future__ import annotations

import sys

import kgdx

QUESTION = "Which genes are associated with trichorhinophalangeal syndrome type I?"


def main(question: str = QUESTION) -> None:
    with kgdx.open() as graph:
        answer = graph.ask(question)

    items = {item.id: item for item in answer.pack.items}
    for sentence in answer.text.sentences:
        print(sentence.text)
        for item in (items[id_] for id_ in sentence.cites):
            print(f"  {item.id}  {item.text}  [{', '.join((*item.sources, *item.references))}]")


if __name__ == "__main__":
    main(*sys.argv[1:])
