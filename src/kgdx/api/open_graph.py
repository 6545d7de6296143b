"""An open graph as its users see it: diagnose on it, ask it by template, read words with it, save what was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, get_type_hints

from kgdx.actions.explaining import MAX_EXPLAINED
from kgdx.actions.graph_context import GraphContext
from kgdx.actions.reading import MAX_TOP
from kgdx.answer.artifacts import Declared, DiseasesNamed, Reranked, candidates_of, evidence_of, ranking_of
from kgdx.answer.diagnosis import Diagnosis
from kgdx.api.questions import READER, Asking, able, faults, provenance, read_twice, suited, within, world_of
from kgdx.api.questions import ask as answer_question
from kgdx.case import (
    About,
    Case,
    Extraction,
    Issue,
    case_from_document,
    case_from_terms,
    case_from_text,
    names_file,
    one_case,
    with_person,
)
from kgdx.config import is_neo4j
from kgdx.episode.loop import Episode, Watch, begin, kgdx_version
from kgdx.episode.loop import run as run_episode
from kgdx.episode.policy import Policy, default_policy, make_policy
from kgdx.episode.resume import Replayed, policy_of, resume
from kgdx.episode.resume import replay as replay_trace
from kgdx.episode.segment import Kind, Segment, error_of
from kgdx.episode.state import Limits, State
from kgdx.episode.world import Patient, World
from kgdx.errors import CaseError, StoreError, UsageError
from kgdx.results.ranked import Candidate, MoveReason, Reranking
from kgdx.terms.names.name_decision import KINDS, NameEntry

if TYPE_CHECKING:
    import polars

    from kgdx.actions.graph_context import GraphContext
    from kgdx.answer.cited_answer import Answer
    from kgdx.api.consulting import Consultation, Keep, Transcript
    from kgdx.api.predicting import Predicting
    from kgdx.llm.chat import ChatModel
    from kgdx.results.predicted import Neighbours, Predictions

CaseLike = Case | str | Path | Mapping[str, Any] | Iterable[str]
"""What can be diagnosed: a case, free text, a file, a parsed phenopacket (or other JSON form), or terms."""

MOST = 1000
"""Most entries of a search."""


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
        policy: str | Policy | None = None,
        explain: int = 0,
        limits: Limits | None = None,
        seed: int = 0,
        case_bank: bool | None = None,
        gates: bool = True,
        model: ChatModel | str | None = None,
        reader: ChatModel | str | None = None,
        heed_doubts: bool = False,
        watch: Watch | None = None,
        **about: Unpack[About],
    ) -> Diagnosis:
        """Rank the diseases that fit a patient, and say why.

        Args:
            case: A case, free text, a path to a file, a parsed phenopacket, or HPO terms (ids, labels, phrases).
            policy: Name of a policy (:data:`kgdx.policies.POLICIES`), or a policy of your own; by default the first
                that diagnoses, and asks a model if one is given.
            explain: For how many of them to find evidence paths, at most 1,000, which takes most of the time;
                :meth:`explain` finds those of any one candidate.
            case_bank: Whether to match with the graph's patients too, never with those of the case's own publications;
                by default where it has some. For a policy given by name.
            gates: Whether diseases that sex or age rules out are left out, as the policy ``fixed`` does.
            model: Who plans, for the policy ``planner``: a language model, or the name of one at the endpoint that is
                set.
            reader: A language model that reads the case's text after the rules, or the name of one: it adds findings by
                words of the text and terms of the graph, and tells which of the rules' it doubts.
            heed_doubts: Whether what it doubts is taken as unknown.
            watch: Given each segment of the log, as soon as the choice and its action are done.
            about: What is known of the patient beside the case: ``age``, ``sex``, ``onset``, ``inheritance``,
                ``consanguineous``, ``genes`` (:class:`kgdx.case.About`).
        """
        if not isinstance(top, int) or not 1 <= top <= MAX_TOP:
            raise UsageError(f"top is {str(top)[:40]}", hint=f"ask for 1 to {MAX_TOP:,} candidates")
        if not isinstance(explain, int) or explain < 0:
            raise UsageError(f"explain is {str(explain)[:40]}", hint="give how many candidates to explain")
        if case_bank is not None and not isinstance(policy, str | None):
            raise UsageError("case_bank goes with the name of a policy", hint="give your own policy such a setting")
        wanted = ({} if case_bank is None else {"case_bank": case_bank}) | ({} if gates else {"gates": False})
        shown = {"top": top, "explain": min(explain, top, MAX_EXPLAINED)}
        chooser = suited(self, policy, "diagnoses", model, wanted, **shown)
        if chooser.capabilities.models or reader is not None:
            limits = within(limits)
        world = world_of(self, chooser, model, limits or Limits())
        if reader is not None:
            chooser, world = read_twice(self, chooser, world, reader, limits or Limits(), heed_doubts=heed_doubts)
        patient = self.case(case, **about).identified()
        start = begin(patient, chooser, seed=seed, limits=limits, fingerprint=self.fingerprint)
        return self.diagnosis(run_episode(world, start, chooser, watch))

    def extract(
        self,
        text: str,
        language: str | None = None,
        patient: Case | None = None,
        *,
        reader: ChatModel | str | None = None,
        limits: Limits | None = None,
        **how: Any,
    ) -> Extraction:
        """Read all findings of a free text; the patient's age and sex decide which values are usual.

        Args:
            reader: A language model that reads the text after the rules, as for :meth:`diagnose`.
            limits: What it may cost.
            how: Settings of :class:`~kgdx.policies.second_reader.SecondReader`: ``heed_doubts``, ``room``.
        """
        found = super().extract(text, language, patient)
        if reader is None:
            return found
        from kgdx.policies.second_reader import united

        case = replace(patient or Case(""), text=text)
        state, failed = self._read_twice(case, reader, limits, language=language, **how)
        found = united(found, state)
        return replace(found, issues=(*found.issues, *failed))

    def read_again(
        self, case: CaseLike, reader: ChatModel | str | None = None, *, limits: Limits | None = None, **how: Any
    ) -> Case:
        """Return a case whose text a language model reads after the rules, to explain, to consult or to ask about.

        Its findings and doubts are the case's own from then on, as if somebody had given them: see :meth:`extract`.
        Without a text, or a reader, the case is as it was.
        """
        given = self.case(case)
        if reader is None or not given.text.strip():
            return given
        state, failed = self._read_twice(given, reader, limits, **how)
        # rules read the text once more, wherever the case is used: what they leave unread is theirs to say
        return replace(state.case, unread=given.unread).with_issues(failed)

    def _read_twice(
        self, case: Case, reader: ChatModel | str, limits: Limits | None, **how: Any
    ) -> tuple[State, list[Issue]]:
        limits = within(limits)
        chooser, world = read_twice(self, None, World(self), reader, limits, **how)
        start = begin(case.identified(), chooser, limits=limits, fingerprint=self.fingerprint)
        state = run_episode(world, start, chooser).state
        return state, [each for each in faults(state) if each.where == READER]

    def episode(
        self,
        case: CaseLike | None = None,
        *,
        policy: str | Policy | None = None,
        question: str = "",
        patient: Patient | None = None,
        model: ChatModel | str | None = None,
        log: Iterable[Segment] | None = None,
        limits: Limits | None = None,
        seed: int = 0,
        watch: Watch | None = None,
    ) -> Episode:
        """Run an episode until it ends or waits, or go on with one from its log.

        It waits for whoever is absent: :func:`kgdx.episode.answered` takes a patient's reply, and
        :func:`kgdx.episode.run` goes on in the world of :meth:`world`.

        Args:
            case: As for :meth:`diagnose`; nothing is known of the patient where ``None``.
            policy: Name of a policy with its usual settings, or a policy of your own.
            patient: Who is asked at once, such as a simulated patient.
            model: A language model, or the name of one at the endpoint that is set.
            log: The log of an episode to go on with; case, question, limits and seed are its own, and so is the policy
                unless one of your own is given.
        """
        given = tuple(log or ())
        if isinstance(policy, Policy):
            chooser = policy
        elif given:
            chooser = policy_of(given)
        else:
            chooser = make_policy(policy or default_policy("diagnoses")).suited(self)
        world = self.world(chooser, patient=patient, model=model, limits=limits)
        if given:
            return run_episode(world, resume(world, given), chooser, watch)
        known = Case("") if case is None else self.case(case)
        start = begin(
            known.identified(), chooser, question=question, seed=seed, limits=limits, fingerprint=self.fingerprint
        )
        return run_episode(world, start, chooser, watch)

    def consult(
        self,
        case: CaseLike | None = None,
        *,
        policy: str | Policy | None = None,
        model: ChatModel | str | None = None,
        resume: Transcript | None = None,
        limits: Limits | None = None,
        seed: int = 0,
        keep: Keep | None = None,
        trusted: bool = True,
        **settings: Any,
    ) -> Consultation:
        """Begin a consultation, or go on with one: it asks question by question, and waits for each answer.

        Args:
            case: What is known of the patient, as for :meth:`diagnose`; it begins with an open question where nothing
                is.
            policy: Who chooses the questions: a policy that asks patients, or its name; by default ``inquiry``.
            resume: What to go on with: :meth:`Consultation.to_dict`, a log, or the file of one. It has its own patient,
                policy and settings.
            limits: What the model may cost from now on: calls, tokens, cost, seconds.
            keep: Given the whole log after each change.
            trusted: Whether the transcript was kept where nobody could change it. Otherwise only its patient, its
                settings and its answers count: all else is done again, and has to come out the same.
            settings: Of the policy: ``questions``, ``certain``, ``selector``, ``speaks`` (``en`` or ``zh``),
                ``narrow``, ``unchanged``.

        Example:
            >>> import kgdx
            >>> with kgdx.open() as graph:  # doctest: +SKIP
            ...     consultation = graph.consult(["HP:0001251"])
            ...     print(consultation.question.text)
            ...     consultation.answer("yes, since childhood")
        """
        from kgdx.api.consulting import Consultation, asking, asking_policy, begun, log_of, resumed, verified

        if resume is not None:
            if case is not None or settings or policy is not None:
                hint = "leave them out, or the transcript"
                raise UsageError("a transcript has its own patient and settings", hint=hint)
            log = log_of(resume)
            chooser = asking(policy_of(log))
            world = replace(self.world(chooser, model=model, limits=limits), memo=self.memo)
            episode = resumed(world, chooser, log) if trusted else verified(self, world, chooser, log)
        else:
            chooser = asking(policy if isinstance(policy, Policy) else asking_policy(policy, settings))
            able(chooser, "diagnoses", model, patient=self)
            world = replace(self.world(chooser, model=model, limits=limits), memo=self.memo)
            patient = Case("") if case is None else self.case(case)
            episode = begun(self, world, chooser, patient.identified(), seed)
        return Consultation(self, world, chooser, episode, self.diagnosis, keep)

    def world(
        self,
        policy: Policy,
        *,
        patient: Patient | None = None,
        model: ChatModel | str | None = None,
        limits: Limits | None = None,
    ) -> World:
        """Return the world of episodes on this graph: the graph, a patient if there is one, and the policy's model."""
        return replace(world_of(self, policy, model, limits or Limits()), patient=patient)

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
            case: The patient that it is about, in any form that :meth:`diagnose` takes.
            policy: ``rules`` (no language model), ``planner``, or a policy of your own; by default ``planner`` where a
                model is given, otherwise ``rules``.
            how: See :class:`~kgdx.api.questions.Asking`: ``strict``, ``pubmed``, ``language``, ``rounds``, ``limits``,
                ``seed``, ``on_text``, ``watch``.
        """
        return answer_question(self, question, None if case is None else self.case(case), policy, model, how)

    def explain(
        self,
        case: Diagnosis | CaseLike,
        disease: str,
        *,
        top: int = 10,
        policy: str | None = None,
        case_bank: bool | None = None,
        **about: Unpack[About],
    ) -> Diagnosis:
        """Diagnose, and explain one disease wherever it stands in the ranking.

        Args:
            case: A case in any form, or a diagnosis whose case is meant.
            disease: Id or name of a disease, or of an entry that is merged into one.
            policy: Name of a policy that can be asked for a disease.
        """
        patient = self.case(case.case if isinstance(case, Diagnosis) else case, **about)
        wanted = {"also": (self.ranked_disease(disease),), **({} if case_bank is None else {"case_bank": case_bank})}
        chooser = make_policy(policy or default_policy("diagnoses"), wanted, top=top, explain=0)
        start = begin(patient.identified(), chooser, fingerprint=self.fingerprint)
        return self.diagnosis(run_episode(world_of(self, chooser, None, Limits()), start, chooser))

    def case(self, given: CaseLike, **about: Unpack[About]) -> Case:
        """Make a case of what :meth:`diagnose` accepts."""
        case = with_person(self._case(given), about)
        return self.genes.known(case) if case.gene_evidence else case

    def _case(self, given: CaseLike) -> Case:
        if isinstance(given, Case):
            return given
        if isinstance(given, str):
            if names_file(given):
                raise CaseError(f"{given!r} is the name of a file", hint="read it with `pathlib.Path(...)`")
            return case_from_text(given)
        if isinstance(given, Path):
            return one_case(given)
        if isinstance(given, Mapping):
            return case_from_document(dict(given))
        terms = list(given) if isinstance(given, Iterable) else [given]
        if wrong := [each for each in terms if not isinstance(each, str)]:
            raise CaseError(f"a case is given by {type(wrong[0]).__name__}", hint="give words, terms, a Path or a Case")
        return case_from_terms(terms, self, ancestry=self.ancestry)

    def search(self, text: str, *kinds: str, limit: int = 10) -> polars.DataFrame:
        """Find nodes by what people call them, in English or Chinese: diseases, findings, tests, medicines, genes.

        Args:
            text: A name, the beginning of one, or an id; typos are seen through.
            kinds: Node classes, such as ``Disease``; all that have names by default.

        Returns:
            A row for each with ``id``, ``kind``, ``name``, ``source``, ``matched`` (the name that was found),
            ``method``, ``relation`` and ``score`` (0 to 1): what the name means first, then what begins with it or
            comes near.
        """
        import polars

        if not text.strip():
            raise UsageError("there is nothing to search for", hint="give a name, the beginning of one, or an id")
        if strange := [kind for kind in kinds if kind not in KINDS]:
            raise UsageError(f"{strange[0]!r} has no names to search", hint=f"kinds are {', '.join(KINDS)}")
        if not 1 <= limit <= MOST:
            raise UsageError(f"limit is {limit}", hint=f"ask for 1 to {MOST:,} entries")
        wanted = kinds or KINDS
        decided = self.names.resolve(text, wanted)
        found: dict[tuple[str, str], NameEntry] = {}
        for entry in chain(decided.entries, self.names.complete(text, wanted, limit), decided.candidates):
            found.setdefault((entry.kind, entry.id), entry)
        columns = [name for name in get_type_hints(NameEntry) if name != "via"]
        rows = [[getattr(entry, name) for name in columns] for entry in list(found.values())[:limit]]
        types = [polars.Float64 if name == "score" else polars.String for name in columns]
        return polars.DataFrame(rows, schema=dict(zip(columns, types, strict=True)), orient="row")

    def predict(self, node: str, relation: str, **how: Unpack[Predicting]) -> Predictions:
        """Predict links of a node that the graph does not state, by embeddings of the graph; they are no facts.

        Args:
            node: Id or name, of a kind of node that the relation joins; ``disease:`` or another kind may stand before.
            relation: Name of the ontology, such as ``has_symptom``.
            how: See :class:`~kgdx.api.predicting.Predicting`: ``top``, ``embeddings``, ``known``.
        """
        from kgdx.api.predicting import predict

        return predict(self, node, relation, **how)

    def nearest(self, node: str, *, top: int = 10, embeddings: str | None = None) -> Neighbours:
        """Return the nodes of one kind that embeddings of the graph place nearest to a node; raises as above."""
        from kgdx.api.predicting import neighbours

        return neighbours(self, node, top, embeddings)

    def ranked_disease(self, name: str) -> str:
        """Return the id of the ranked disease that an id or a name stands for."""
        ranker = self.ranker
        if ranker.number_of(name) >= 0:
            return name
        decided = self.names.resolve(name, ("Disease",))
        numbers = {entry.id: ranker.number_of(entry.id) for entry in decided.entries}
        ranked = {number: id for id, number in reversed(numbers.items()) if number >= 0}
        if len(ranked) == 1:
            return next(iter(ranked.values()))
        if ranked:
            listed = ", ".join(f"{ranker.names.candidate(at).name} ({id})" for at, id in reversed(ranked.items()))
            raise UsageError(f"{name[:60]!r} may mean several diseases", hint=f"give the id of one: {listed}")
        near = [f"{each.name} ({each.id})" for each in decided.candidates if ranker.number_of(each.id) >= 0][:3]
        hint = f"did you mean {' or '.join(near)}?" if near else "find its name or id with `kgdx search NAME`"
        raise UsageError(f"{name[:60]!r} is not among the ranked diseases", hint=hint)

    def frame(self, template: str, /, **parameters: Any) -> polars.DataFrame:
        """Run a read template and return its rows as a polars data frame, columns in the template's order."""
        import polars

        from kgdx.graph.templates import template as look_up

        rows = self.run(template, **parameters)
        columns = look_up(template, "read").columns
        if not rows:
            return polars.DataFrame(schema=dict.fromkeys(columns, polars.Null))
        return polars.DataFrame(rows, infer_schema_length=None).select(columns)

    def status(self) -> dict[str, Any]:
        """Say what the graph holds: its build, its sources, nodes and relations by type, and what can be ranked."""
        from kgdx.graph.tables import BOOKKEEPING
        from kgdx.schema import load_schema

        found = self.run("build")
        counts = self.store.counts()  # kept by the stores; a query would read every edge
        schema = load_schema()
        return {
            "store": self.url,
            "build": found[0] if found else None,
            "sources": self.run("sources"),
            "nodes": {name: counts[name] for name in sorted((schema.nodes.keys() & counts.keys()) - BOOKKEEPING)},
            "relations": {name: counts[name] for name in sorted(schema.relations.keys() & counts.keys())},
            "candidates": self._described() if counts.get("Disease") and not is_neo4j(self.url) else {},
        }

    def _described(self) -> dict[str, tuple[int, int]]:
        """Return how many candidates of ranking each source describes alone, and with others."""
        import polars as pl

        from kgdx.rank.ranking_model import open_model

        try:
            candidate = open_model(self.snapshot).candidates.of
        except StoreError:  # nothing in it can be ranked
            return {}
        parts = []
        for table in ("has_phenotype", "has_symptom"):
            disease, source = (self.snapshot.column(table, name) for name in ("disease", "source"))
            parts.append(
                pl.DataFrame(
                    {"candidate": candidate[disease], "source": list(source)}, schema_overrides={"source": pl.String}
                ).unique()
            )
        rows = pl.concat(parts).filter(pl.col("candidate") >= 0).unique()
        rows = rows.with_columns(alone=pl.len().over("candidate") == 1)
        found = rows.group_by("source").agg(alone=pl.col("alone").sum(), every=pl.len()).sort("source")
        return {source: (alone, every - alone) for source, alone, every in found.iter_rows()}

    def keep_predictions(self, found: Predictions) -> int:
        """Write predictions into the graph as relations of their own kind, never as facts; return how many."""
        from kgdx.api.predicting import keep

        return keep(self, found)

    def drop_predictions(self, model: str | None = None) -> int:
        """Take the predictions of embeddings out of the graph, or those of all; return how many there were."""
        from kgdx.api.predicting import drop

        return drop(self, model)

    def save(self, result: Diagnosis | Answer, *, text: bool = False) -> str:
        """Write a diagnosis or an answer into the graph; see :func:`kgdx.answer.saved_runs.save`."""
        from kgdx.answer.saved_runs import save

        return save(result, self, text=text)

    def replay(self, run: str | Diagnosis | Answer | Iterable[Segment]) -> tuple[Replayed, ...]:
        """Run the queries of a run again and say whether the graph still answers the same.

        Args:
            run: Id of a saved run, a diagnosis, an answer, or a trace.
        """
        from kgdx.answer.cited_answer import Answer
        from kgdx.answer.saved_runs import saved_trace

        if isinstance(run, Diagnosis | Answer):
            trace: Iterable[Segment] = run.trace
        else:
            trace = saved_trace(run, self) if isinstance(run, str) else run
        return replay_trace(tuple(trace), self)

    def diagnosis(self, episode: Episode) -> Diagnosis:
        """Return what an episode has found, whether it has ended or waits; raises what failed where that is nothing."""
        state = episode.state
        failed = episode.error or next((error_of(each) for each in state.log if each.kind is Kind.ERROR), None)
        if failed and not episode.waiting and ranking_of(state) is None and state.last(Declared) is None:
            raise failed
        if not evidence_of(episode.state):  # a ranking alone never opens the store
            return diagnosis_of(episode, fingerprint=self.fingerprint)
        fingerprint, sources = provenance(self)
        return replace(diagnosis_of(episode, fingerprint=fingerprint), sources=sources)


def diagnosis_of(episode: Episode, *, fingerprint: str) -> Diagnosis:
    """Return what an episode found."""
    state = episode.state
    ranking, declared = ranking_of(state), state.last(Declared)
    issues = list(state.case.issues)
    if ranking is not None:
        about_graph = [issue for issue in ranking.issues if issue.where == "graph"]
        issues = [*about_graph, *issues, *(issue for issue in ranking.issues if issue.where != "graph")]
    if episode.error is not None:
        issues.append(Issue("error", "episode", str(episode.error), "the result holds what was found before"))
    reranked = state.last(Reranked)
    spoke = ("planner", READER) + (() if reranked is not None else ("model", "thought", "search", "undeclared"))
    issues += [issue for issue in faults(state) if issue.where in spoke]
    issues += () if reranked is None else order_issues(reranked.told)
    candidates = candidates_of(state)
    if declared is not None and declared.diseases:
        order = {id: place for place, id in enumerate(declared.diseases)}
        known = [each for each in candidates if each.id in order]
        named = state.last(DiseasesNamed)
        reasons = named.reasons if named is not None else {} if reranked is None else reranked.reasons
        candidates = replaced_in(sorted(known, key=lambda each: order[each.id]), reasons)
        for id in declared.diseases[:MAX_EXPLAINED]:
            if all(each.id != id for each in candidates):
                issues.append(Issue("warning", id, "it was declared and is not among the candidates", "left out"))
    return Diagnosis(
        case=state.case,
        candidates=candidates,
        evidence=evidence_of(state),
        trace=state.log,
        issues=tuple(dict.fromkeys(issues)),
        reason=episode.reason,
        policy=episode.policy,
        fingerprint=fingerprint,
        version=kgdx_version(),
        n_candidates=0 if ranking is None else ranking.n_candidates,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        reranking=None if reranked is None else reranked.told,
        judgement=None if ranking is None else ranking.judgement,
    )


def replaced_in(order: Iterable[Candidate], reasons: Mapping[str, MoveReason]) -> tuple[Candidate, ...]:
    """Return candidates numbered in a declared order, each with the number that it was retrieved with."""
    return tuple(
        replace(
            each,
            rank=place,
            family_rank=None if each.family_rank is None else place,
            retrieved_rank=each.place,
            reason=reasons.get(each.id),
        )
        for place, each in enumerate(order, 1)
    )


def order_issues(told: Reranking) -> Iterator[Issue]:
    """Yield what a reader has to know of a model's order: one line at most.

    Example:
        >>> [each.message for each in order_issues(Reranking("m", asked=1, failed=1, fault="it holds no order"))]
        ['the model m gave no order of the candidates: it holds no order']
    """
    who, remedy = f"the model {told.model}".strip(), "the order of retrieval stands"
    if told.stands:
        yield Issue("warning", "rerank", f"{who} gave no order of the candidates: {told.fault}", remedy)
    elif told.failed:
        failed = f"{who} gave no order in {told.failed} of {told.asked} requests: {told.fault}"
        yield Issue("warning", "rerank", failed, f"{remedy} there")
