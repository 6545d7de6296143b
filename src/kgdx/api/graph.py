"""An open graph as its users see it: diagnose on it, ask it by template, read words with it, save what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from kgdx.actions.answer import Answer
from kgdx.actions.diagnosis import Diagnosis
from kgdx.actions.episode import Episode, Policy, Watch
from kgdx.actions.episode import run as run_episode
from kgdx.actions.explaining import MAX_EXPLAINED
from kgdx.actions.foreign import mapping_of
from kgdx.actions.graph import GraphContext
from kgdx.actions.ranking import MAX_TOP
from kgdx.actions.record import Replayed
from kgdx.actions.record import replay as replay_trace
from kgdx.actions.save import save as save_result
from kgdx.actions.save import saved_trace
from kgdx.actions.state import Limits, Segment, State
from kgdx.api.asking import Asking, faults, kgdx_version, planning, provenance, within
from kgdx.api.asking import ask as answer_question
from kgdx.case import Case, Issue, case_from_document, case_from_terms, case_from_text, one_case
from kgdx.config import Settings
from kgdx.errors import UsageError
from kgdx.policies import policy as make_policy

if TYPE_CHECKING:
    import polars

    from kgdx.llm.protocol import ChatModel
    from kgdx.load.clock import Progress
    from kgdx.text.encoder import Encoder

CaseLike = Case | str | Path | Mapping[str, Any] | Iterable[str]
"""What can be diagnosed: a case, free text, a file, a parsed phenopacket (or other JSON form), or terms."""


class Graph(GraphContext):
    """An open graph: diagnose on it, ask it by template, read words with it.

    Made by :func:`open`; close it, or use it as a context manager. It is a
    :class:`~kgdx.case.FindingReader`, so ``Case.from_terms(terms, graph)`` works.
    """

    def diagnose(
        self,
        case: CaseLike,
        *,
        top: int = 10,
        policy: str | Policy = "fixed",
        explain: int | None = None,
        limits: Limits | None = None,
        seed: int = 0,
        case_bank: bool = False,
        model: ChatModel | str | None = None,
        watch: Watch | None = None,
    ) -> Diagnosis:
        """Rank the diseases that fit a patient, and say why.

        Args:
            case: A case, free text, a path to a file, a parsed phenopacket, or HPO terms (ids, labels, phrases).
            top: How many candidates.
            policy: Name of a policy (:data:`kgdx.policies.POLICIES`), or a policy of your own.
            explain: For how many of them to find evidence paths; by default, and at most, the first 1,000.
            limits: When to stop a policy that would go on.
            seed: Of the policy's random choices.
            case_bank: Whether to match with other patients of the graph too, never with those of the case's own
                publications; for a policy given by name.
            model: Who plans, for the policy ``planner``: a language model, or the name of one at the endpoint that is
                set.
            watch: Given each segment of the log, as soon as the choice and its action are done.

        Raises:
            CaseError: No usable case can be made of the input.
            UsageError: No such policy, or a setting that cannot be right.
            StoreError: Other patients are wanted, and the graph has none with a diagnosis.
        """
        if not 1 <= top <= MAX_TOP:
            raise UsageError(f"top is {top}", hint=f"ask for 1 to {MAX_TOP:,} candidates")
        if isinstance(policy, str):
            explained = min(top if explain is None else explain, MAX_EXPLAINED)
            settings: dict[str, Any] = {"top": top, "explain": explained, **_bank(case_bank)}
            if policy == "planner":
                limits = within(limits)
                settings |= planning(self.settings, model, limits)
            elif model is not None:
                raise UsageError(f"the policy {policy} asks no model", hint="use the policy planner")
            policy = make_policy(policy, **settings)
        elif case_bank or model is not None:
            what = "case_bank" if case_bank else "a model"
            raise UsageError(f"{what} goes with the name of a policy", hint="give your own policy such a setting")
        state = State(self.case(case).identified(), seed=seed)
        return self._diagnosis(run_episode(self, state, policy, limits, closing=_closing(policy, top), watch=watch))

    def ask(
        self,
        question: str,
        *,
        case: CaseLike | None = None,
        policy: str | Policy | None = None,
        model: ChatModel | str | None = None,
        **how: Unpack[Asking],
    ) -> Answer:
        """Answer a medical question from the graph, in English or Chinese; each claim points at its evidence.

        Args:
            question: Such as "Which gene causes Marfan syndrome?".
            case: The patient that it is about, in any form that :meth:`diagnose` takes.
            policy: ``rules`` (no language model), ``planner``, or a policy of your own; by default ``planner`` where a
                model is given, otherwise ``rules``.
            model: A language model, or the name of one at the endpoint that is set.
            how: See :class:`~kgdx.api.asking.Asking`: ``strict``, ``pubmed``, ``language``, ``rounds``, ``limits``,
                ``seed``, ``on_text``, ``watch``.

        Raises:
            UsageError: The question is empty, or a setting cannot be right.
            CaseError: No usable case can be made of the patient.
            ConfigError: A model is wanted, and none is set.
            LlmError: The model failed before anything was found; what was found otherwise is answered with.
            StoreError: The graph failed before anything was found.
        """
        return answer_question(self, question, None if case is None else self.case(case), policy, model, how)

    def explain(
        self,
        case: Diagnosis | CaseLike,
        disease: str,
        *,
        top: int = 10,
        policy: str = "fixed",
        case_bank: bool = False,
    ) -> Diagnosis:
        """Diagnose, and explain one disease wherever it stands in the ranking.

        Args:
            case: A case in any form, or a diagnosis whose case is meant.
            disease: Id of a disease, or of an entry that is merged into one.
            top: How many candidates to rank beside it.
            policy: Name of a policy that can be asked for a disease.
            case_bank: As for :meth:`diagnose`.

        Raises:
            UsageError: The disease is not among those that are ranked.
        """
        patient = case.case if isinstance(case, Diagnosis) else self.case(case)
        chooser = make_policy(policy, top=top, explain=0, also=(disease,), **_bank(case_bank))
        return self._diagnosis(run_episode(self, State(patient.identified()), chooser))

    def case(self, given: CaseLike) -> Case:
        """Make a case of what :meth:`diagnose` accepts.

        Raises:
            CaseError: It is empty, unreadable, or names an unknown term.
        """
        if isinstance(given, Case):
            return given
        if isinstance(given, str):
            return case_from_text(given)
        if isinstance(given, Path):
            return one_case(given)
        if isinstance(given, Mapping):
            return case_from_document(dict(given))
        return case_from_terms(given, self, ancestry=self.ancestry)

    def frame(self, template: str, /, **parameters: Any) -> polars.DataFrame:
        """Run a read template and return its rows as a polars data frame, columns in the template's order.

        Raises:
            TemplateError: No such read template, or parameters that do not fit its header.
        """
        import polars

        from kgdx.store.templates import template as look_up

        rows = self.run(template, **parameters)
        columns = look_up(template, "read").columns
        if not rows:
            return polars.DataFrame(schema=dict.fromkeys(columns, polars.Null))
        return polars.DataFrame(rows, infer_schema_length=None).select(columns)

    def status(self) -> dict[str, Any]:
        """Say what the graph holds: its build, its sources, nodes and relations by type."""
        from kgdx.schema import load_schema
        from kgdx.store.tables import BOOKKEEPING

        found = self.run("build")
        counts = self.store.counts()  # kept by the stores; a query would read every edge
        schema = load_schema()
        return {
            "store": self.url,
            "build": found[0] if found else None,
            "sources": self.run("sources"),
            "nodes": {name: counts[name] for name in sorted((schema.nodes.keys() & counts.keys()) - BOOKKEEPING)},
            "relations": {name: counts[name] for name in sorted(schema.relations.keys() & counts.keys())},
        }

    def save(self, result: Diagnosis | Answer, *, text: bool = False) -> str:
        """Write a diagnosis or an answer into the graph; see :func:`kgdx.actions.save.save`."""
        return save_result(result, self, text=text)

    def replay(self, run: str | Diagnosis | Answer | Iterable[Segment]) -> tuple[Replayed, ...]:
        """Run the queries of a run again and say whether the graph still answers the same.

        Args:
            run: Id of a saved run, a diagnosis, an answer, or a trace.

        Raises:
            UsageError: There is no such run.
        """
        if isinstance(run, Diagnosis | Answer):
            trace: Iterable[Segment] = run.trace
        else:
            trace = saved_trace(run, self) if isinstance(run, str) else run
        return replay_trace(tuple(trace), self)

    def _diagnosis(self, episode: Episode) -> Diagnosis:
        if episode.error is not None and episode.state.ranking is None:
            raise episode.error
        if not episode.state.evidence:  # a ranking alone never opens the store
            return diagnosis_of(episode, fingerprint=self.fingerprint)
        fingerprint, sources = provenance(self)
        return replace(diagnosis_of(episode, fingerprint=fingerprint), sources=sources)


def diagnosis_of(episode: Episode, *, fingerprint: str) -> Diagnosis:
    """Return what an episode found.

    Example:
        >>> from kgdx.actions import Episode, State
        >>> diagnosis_of(Episode(State(Case("p")), "fixed", "steps"), fingerprint="f").reason
        'steps'
    """
    state, ranking = episode.state, episode.state.ranking
    issues = list(state.case.issues)
    if ranking is not None:
        issues += ranking.issues
    if episode.error is not None:
        issues.append(Issue("error", "episode", str(episode.error), "the result holds what was found before"))
    issues += [issue for issue in faults(state) if issue.where in ("model", "planner")]
    return Diagnosis(
        case=state.case,
        candidates=() if ranking is None else tuple(ranking.candidates),
        evidence=state.evidence or {},
        trace=state.log,
        issues=tuple(dict.fromkeys(issues)),
        reason=episode.reason,
        policy=episode.policy,
        fingerprint=fingerprint,
        version=kgdx_version(),
        n_candidates=0 if ranking is None else ranking.n_candidates,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def open(
    store: str | Path | None = None,
    *,
    mapping: str | Path | None = None,
    encoder: bool | Encoder = False,
    build: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Graph:
    """Open a graph for reading.

    There is no mode to write in: :func:`save` (and :meth:`Graph.writing`) takes the open graph over for one transaction
    and gives it back, so that nobody keeps others from reading for longer than that.

    Args:
        store: Folder of an embedded graph, or Bolt address of a Neo4j server; ``KGDX_STORE``, the config file, or the
            default folder when ``None``.
        mapping: File that says what the names of a Neo4j database stand for that others built; ``KGDX_NEO4J_MAPPING``
            or the config file when ``None``, and without one the database is taken for a graph of kgdx's own.
        encoder: Whether to read by meaning what no name of the graph matches (needs the extra ``encoder``; English),
            or an encoder of your own. The graph's names are encoded once, when words are first read.
        build: Whether to build the default graph first where there is none yet, as the commands do; see
            :func:`~kgdx.api.ensure_default_graph`. A graph that ``store`` or a setting names is never built.
        progress: Told in words what takes long.

    Raises:
        StoreError: There is no graph, or it cannot be opened or built.
        MissingExtraError: The extra ``encoder`` is wanted and not installed.

    Example:
        >>> open("/nowhere")
        Traceback (most recent call last):
            ...
        kgdx.errors.StoreError: no graph at /nowhere: build one with `kgdx build`
    """
    if build and store is None:
        from kgdx.api.building import ensure_default_graph

        ensure_default_graph(None if progress is None else _stages(progress))
    settings = Settings.load(store)
    if (described := mapping_of(mapping, settings.store)) is not None:
        settings = replace(settings, neo4j_mapping=described)
    return Graph(settings, _encoder(encoder), progress)


def _stages(tell: Callable[[str], None]) -> Callable[[Progress], None]:
    """Return what tells in words which stage of a build begins."""
    seen: set[str] = set()

    def told(event: Progress) -> None:
        if event.stage not in seen:
            seen.add(event.stage)
            tell(event.detail)

    return told


def _encoder(wanted: bool | Encoder) -> Encoder | None:
    """Return the encoder to use; the default one is loaded only when asked for."""
    if not isinstance(wanted, bool):
        return wanted
    if not wanted:
        return None
    from kgdx.text.encoder import MiniLM

    return MiniLM()


def save(
    result: Diagnosis | Answer, graph: Graph | None = None, *, store: str | Path | None = None, text: bool = False
) -> str:
    """Write a run with its case and candidates into the graph, in one transaction; twice is as good as once.

    Args:
        result: What :meth:`Graph.diagnose` or :meth:`Graph.ask` returned.
        graph: The open graph; opened from ``store`` for this when ``None``.
        store: As for :func:`open`.
        text: Whether the patient's own words are stored too, with question, answer, and what models said.

    Returns:
        The run's id.

    Raises:
        StoreLockedError: Another process reads or writes the graph; nothing was changed.
        StoreError: The graph lacks a finding or candidate of the diagnosis; nothing was changed.
    """
    if graph is not None:
        return graph.save(result, text=text)
    with open(store) as opened:
        return opened.save(result, text=text)


def _closing(policy: Policy, top: int) -> Policy | None:
    """Who declares a ranking where a planner was stopped before it did."""
    if policy.name != "planner":
        return None
    return make_policy("rules", top=top, explain=0)


def _bank(wanted: bool) -> dict[str, bool]:
    """The setting of a policy that matches with other patients; a policy need not know of it otherwise."""
    return {"case_bank": True} if wanted else {}
