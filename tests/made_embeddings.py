"""Embeddings of a graph's diseases and phenotypes, made without training: each node is the mean of what it has."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

import kgdx
from kgdx.graph.snapshot import Snapshot
from kgdx.rank.embeddings import CARD, NODES, SCHEMA, WEIGHTS

WIDTH = 16


def copied(graph: Path, folder: Path) -> Path:
    """Copy a graph to a folder, and give it embeddings."""
    shutil.copytree(graph, folder)
    with kgdx.open(folder) as opened:
        write(folder, opened.snapshot)
    return folder


def write(folder: Path, snapshot: Snapshot, name: str = "vgae", relation: str = "has_phenotype", seed: int = 0) -> Path:
    """Write a folder of embeddings whose decoder is the inner product, and return it."""
    stated = np.stack([snapshot.column(relation, end).astype(np.int64) for end in ("disease", "phenotype")])
    stated = np.unique(stated, axis=1)
    rows = {kind: np.unique(own) for kind, own in zip(("disease", "phenotype"), stated, strict=True)}
    links = np.stack([np.searchsorted(own, part) for own, part in zip(rows.values(), stated, strict=True)])
    draws = np.random.default_rng(seed)
    phenotype = draws.standard_normal((len(rows["phenotype"]), WIDTH)).astype(np.float32)
    has = np.zeros((len(rows["disease"]), len(rows["phenotype"])), np.float32)
    has[tuple(links)] = 1
    disease = has @ phenotype / has.sum(axis=1, keepdims=True)
    scores = disease @ phenotype.T
    arrays = {f"links.{relation}": links.astype(np.int32)}
    for kind, latents in (("disease", disease), ("phenotype", phenotype)):
        arrays |= {f"{kind}.row": rows[kind].astype(np.int32), f"{kind}.latent": latents, f"{kind}.input": latents}
    weights = {
        f"decoder.{relation}": np.ones(WIDTH, np.float32),
        f"held_out.{relation}.links": scores[has > 0],
        f"held_out.{relation}.others": scores[has == 0],
    }
    card = {
        "schema": SCHEMA,
        "name": name,
        "graph": snapshot.content,
        "sentence_encoder": "none",
        "nodes": {kind: len(own) for kind, own in rows.items()},
        "links": {relation: links.shape[1]},
        "ends": {relation: ["disease", "phenotype"]},
        "width": WIDTH,
        "input_width": WIDTH,
        "training": {"encoder": "none"},
    }
    made = folder / "embeddings" / name
    made.mkdir(parents=True)
    save_file(arrays, made / NODES)
    save_file(weights, made / WEIGHTS)
    (made / CARD).write_text(json.dumps(card))
    return made
