"""Learn embeddings of a graph and write them beside it: what `kgdx learn embeddings` runs."""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgdx.errors import StoreError, StoreLockedError, UsageError
from kgdx.files import locks
from kgdx.files.known import digest_of, place, write_whole
from kgdx.files.private import private_file, private_folder
from kgdx.learn.hetero_graph import GraphChoice, HeteroGraph, ends_of, hetero_graph
from kgdx.rank.embeddings import CARD, FOLDER, NODES, SCHEMA, WEIGHTS, Embeddings
from kgdx.terms.encoder import MiniLM
from kgdx_train.held_out_links import LinkSplit, baselines, split
from kgdx_train.link_training import Progress, Trained, Training, train
from kgdx_train.training_state import save_arrays

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.terms.encoder import Encoder


def learn_embeddings(
    snapshot: Snapshot,
    home: Path,
    name: str,
    encoder: Encoder,
    choice: GraphChoice | None = None,
    how: Training | None = None,
    progress: Progress | None = None,
) -> Embeddings:
    """Learn embeddings and write them as ``home/embeddings/name``, in the place of earlier ones of that name."""
    choice, how = choice or GraphChoice(), how or Training()
    if not re.fullmatch(r"\w[\w-]{0,63}", name):
        raise UsageError(f"embeddings cannot be called {name[:40]!r}", hint="use letters, digits, - and _")
    if "zh" in choice.languages and encoder.name == MiniLM.name:
        hint = "encode with a model that does (sentence-transformers:MODEL), or leave out zh"
        raise UsageError(f"the encoder {encoder.name} does not read Chinese names", hint=hint)
    started = time.monotonic()
    with _held(home / FOLDER, name) as scratch:
        graph = hetero_graph(snapshot, encoder, choice)
        about: dict[str, Any] = {
            "graph": snapshot.content,
            "sentence_encoder": encoder.name,
            "choice": asdict(choice),
            "training": asdict(how),
            "versions": _versions(),
        }
        parts = split(graph, how.held_out, how.seed)
        trained = train(graph, parts, how, scratch, digest_of(about), progress)
        card = {
            "schema": SCHEMA,
            "name": name,
            **about,
            **_described(graph, parts, trained),
            "seconds": round(time.monotonic() - started, 1),
        }
        _write(home / FOLDER / name, card, graph, trained)
        shutil.rmtree(scratch)
    return Embeddings.open(home / FOLDER / name, snapshot, encoder.name)


def _described(graph: HeteroGraph, parts: LinkSplit, trained: Trained) -> dict[str, Any]:
    return {
        "nodes": {kind: len(rows) for kind, rows in graph.rows.items()},
        "links": {name: edges.shape[1] for name, edges in graph.edges.items()},
        "ends": {name: ends_of(name) for name in graph.edges},
        "statistics": graph.statistics(),
        "width": next(int(latents.shape[1]) for latents in trained.latents.values()),
        "input_width": graph.width,
        "epochs": trained.epochs,
        "best_epoch": trained.best,
        "figures": {name: {**own, **baselines(graph, parts, name)} for name, own in trained.figures.items()},
    }


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("kgdx", "torch", "numpy")} | {"python": platform.python_version()}


def _write(folder: Path, card: dict[str, Any], graph: HeteroGraph, trained: Trained) -> None:
    import json

    arrays: dict[str, Any] = {f"links.{name}": edges.astype(np.int32) for name, edges in graph.edges.items()}
    for kind, rows in graph.rows.items():
        arrays |= {f"{kind}.row": rows.astype(np.int32), f"{kind}.latent": trained.latents[kind]}
        arrays[f"{kind}.input"] = graph.inputs[kind]
    weights = dict(trained.weights)
    for name, (links, others) in trained.held_out.items():
        weights |= {f"held_out.{name}.links": links, f"held_out.{name}.others": others}
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        new, old = temporary / "new", temporary / "old"
        new.mkdir(0o700)
        save_arrays(new / NODES, arrays)
        save_arrays(new / WEIGHTS, weights)
        write_whole(new / CARD, json.dumps(card, indent=2, ensure_ascii=False) + "\n")
        if folder.exists():
            os.rename(folder, old)
        place(new, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _held(folder: Path, name: str) -> Iterator[Path]:
    """Keep others from training embeddings of the name; gives the folder of the training's state."""
    try:
        private_folder(folder)
        lock = private_file(folder / f".{name}.lock")
        handle = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if not locks.take(handle, wait_s=0):
                message = f"another process is training the embeddings {name} in {folder}"
                raise StoreLockedError(message, hint="wait for it to finish, or give another --name")
            state = folder / f".{name}.training"
            for left in folder.glob(f".{name}.*"):  # by one that was killed
                if left not in (lock, state):
                    shutil.rmtree(left, ignore_errors=True)
            yield private_folder(state)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            hint = "free some space and run it again: it goes on where it stopped; embeddings that were there stay"
            raise StoreError(f"the disk is full at {folder}", hint=hint) from error
        message = f"the embeddings in {folder} cannot be written ({error.strerror or error})"
        raise StoreError(message, hint="check the folder's permissions") from error
