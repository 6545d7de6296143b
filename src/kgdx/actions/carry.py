"""Bringing a saved run from one store of a graph to another: its case, findings, candidates and record."""

from __future__ import annotations

from kgdx.errors import StoreError, UsageError
from kgdx.graph.protocol import Row, Store, Transaction

_STATED = ("id", "onset", "span_start", "span_end", "matched", "method", "score", "text")


def carry_run(run: str, source: Store, target: Store) -> None:
    """Copy a run and its case, all of it or nothing; what is there already stays.

    Args:
        run: The run's id.
        source: A store that has the run.
        target: A store of the same graph, open for writing.

    Raises:
        UsageError: The source has no such run.
        StoreError: A finding or candidate is not in the target; nothing was changed.
    """
    rows = source.run("run_by_id", run_id=run)
    if not rows:
        raise UsageError(f"no saved run {run[:60]!r}", hint="save one with `kgdx diagnose … --save`")
    found = rows[0]
    key = found["case_id"]
    with target.transaction() as running:
        _carry_case(key, source, running)
        kept = ("created", "policy", "kgdx_version", "fingerprint", "trace", "text_digest")
        running.run("put_run", case_id=key, run_id=run, source="user", **{name: found[name] for name in kept})
        ranked = [
            {name: row[name] for name in ("id", "rank", "score")} for row in source.run("run_candidates", run_id=run)
        ]
        _put(running, "put_candidates", ranked, run_id=run)


def _carry_case(key: str, source: Store, running: Transaction) -> None:
    case = source.run("case_by_id", case_id=key)[0]
    running.run("put_case", case_id=key, **{name: value for name, value in case.items() if name != "id"})
    findings = source.run("case_findings", case_id=key)
    for template, relation in (("put_observations", "OBSERVED"), ("put_exclusions", "EXCLUDED")):
        stated = [{name: row[name] for name in _STATED} for row in findings if row["relation"] == relation]
        _put(running, template, stated, case_id=key)


def _put(running: Transaction, template: str, rows: list[Row], **whose: str) -> None:
    written = {row["id"] for row in running.run(template, source="user", rows=rows, **whose)} if rows else set()
    missing = [row["id"] for row in rows if row["id"] not in written]
    if missing:
        raise StoreError(f"{missing[0]} is not in that graph", hint="copy this one there with `kgdx push --force`")
