"""What evaluations measured, in the terminal: reading, ranking, retrieval, answers, consultations and questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.render.terminal.console import first_of, narrow, not_run, percent, plain
from kgdx.results.words import clean, count

Figures = Mapping[str, Any]

_LISTED = 5
"""Failures that are listed; the rest are counted."""

NOTES = {
    "recall": "share of the gold that is in the evidence, with its 95 % interval",
    "MRR": "mean reciprocal rank of the first right disease among those inferred",
    "precision": "share of right diseases among as many inferred as are right",
    "chose": "share of questions for which the right action was run",
    "citations": "share of the answers' citations that hold",
}

GROUPS = {
    "all": "every case",
    "in_graph": "the graph describes the diagnosis",
    "seen": "described, and the graph cites the case's own publication",
    "unseen": "described, and not cited: the fair estimate for a new patient",
    "withheld": "the cited cases, their publication's annotations withheld",
    "group_label": "the diagnosis is a group of diseases: any of them is right",
}
"""What the groups of the ranking's evaluation mean."""

_AVERAGES = {"cases": "groups", "diseases": "by_disease", "families": "by_family"}


def text_figures(result: Figures) -> RenderableType:
    rows = [(name, f"{result[name]:.3f}") for name in ("precision", "recall", "f1")]
    rows.append(("time", f"{result['ms_median']:.1f} ms, median of a document"))
    return Group(Text(count(result["n"], "document")), plain(("", ""), rows))


def rank_figures(result: Figures) -> RenderableType:
    """Return how often the diagnosis is ranked at the top, by group of cases, in percent with 95 % intervals."""
    rows = []
    for name in result["groups"]:
        for place, (by, key) in enumerate(_AVERAGES.items()):
            told = result[key][name]
            tops = (percent(told[top], told["ci95"][top]) for top in ("top1", "top3", "top10"))
            rows.append((name if place == 0 else "", by, f"{told['n']:,}", *tops, f"{told['mrr']:.3f}"))
    columns = ("Cases", "mean over", "n", "top 1", "top 3", "top 10", "MRR")
    return Group(
        plain(columns, rows, right=columns[2:]),
        Text(),
        *(Text(f"{name:<11} {GROUPS[name]}", style="dim") for name in result["groups"] if name in GROUPS),
        Text("families    one row each, which is right where it holds the diagnosis", style="dim"),
        Text(),
        *(Text(fact) for fact in _rank_facts(result)),
    )


def _rank_facts(result: Figures) -> Iterator[str]:
    yield f"{100 * result['coverage']:.1f} % of the cases have a diagnosis that the graph describes"
    if result["ms_median"] is not None:
        yield f"{result['ms_median']:.1f} ms a case (median), {result['ms_p95']:.1f} ms (95th percentile)"
    if "banked" in result:
        found = f"{count(result['banked'], 'case')} of in_graph with another publication's patient"
        yield f"{found} of the disease in the bank"
    if result["synthetic"]:
        yield f"{count(result['synthetic'], 'case')} made up rather than observed: no estimate for real patients"
    if result["unrankable"]:
        yield f"{count(result['unrankable'], 'case')} with a diagnosis that the graph does not describe: misses"
    if result["group_labels"]:
        named = ", ".join(map(clean, result["group_labels"][:_LISTED]))
        more = ", …" if len(result["group_labels"]) > _LISTED else ""
        yield f"{count(len(result['group_labels']), 'label')} for a group of diseases, counted apart: {named}{more}"
    if result["doubtful"]["n"]:
        first = clean(result["doubtful"]["first"][0])
        yield f"{count(result['doubtful']['n'], 'part')} of cases left out or mended; the first: {first}"
    if result["unlabelled"]:
        yield f"{count(result['unlabelled'], 'case')} without a diagnosis: left out"
    if result["failed"]:
        yield f"{count(len(result['failed']), 'case')} failed and count as misses; --json names them"


def instructions(result: Figures) -> RenderableType:
    """Return how instructions for re-ranking did on the patients who chose, and the chosen one on the others."""
    groups = (("half that chose", result["chosen"]), ("other half", result["measured"]))
    rows = [
        (name, half, str(each["n"]), *(f"{100 * each[key]:.1f}" for key in ("hit1", "hit10", "ndcg10")))
        for half, figures in groups
        for name, each in figures.items()
    ]
    return Group(
        plain(("instruction", "patients", "n", "Hit@1", "Hit@10", "NDCG@10"), rows),
        Text(),
        Text(f"chosen: {clean(result['instruction'])} ({result['digest']})", style="bold"),
    )


def recall_figures(result: Figures) -> RenderableType:
    """Return the figures that need no judge."""
    total = result["all"]
    columns = ("", "n", "recall", "95 %", "MRR", "precision", "chose", "citations")
    rows = [("all", *_recall_row(total))]
    for group in ("split", "language"):
        rows += [(name, *_recall_row(figures)) for name, figures in result[group].items()]
    tokens = (total["read"] or 0) + (total["written"] or 0)
    facts = [
        f"{total['rounds']:.1f} rounds, {total['calls']:.1f} calls and {tokens:,.0f} tokens a question (mean)",
        f"{total['ms']:.0f} ms a question (median), {total['own_ms']:.0f} ms of them kgdx's own",
    ]
    if total["round_ms"] is not None:
        facts.append(
            f"{total['round_ms']:.1f} ms between two answers of the model, {total['round_ms_p95']:.1f} ms (p95)"
        )
    return Group(
        Text(f"{count(total['n'], 'question')}, answered by {clean(result['model'] or 'rules')}"),
        narrow(columns, rows),
        *([Text(), _by_action(result)] if result["action"] else []),
        Text(),
        *(Text(f"{name:<10} {meaning}", style="dim") for name, meaning in NOTES.items()),
        Text(),
        *(Text(fact) for fact in facts),
        *_failures(result["failed"]),
    )


def consult_figures(result: Figures) -> RenderableType:
    """Return how doctors did who met the patients of OSCE cases."""
    columns = ("", "n", "exact", "95 %", "within 5", "judged", "turns", "ordered", "tokens")
    rows = []
    for name, each in result["doctors"].items():
        shares = (_share(each["exact"]["share"]), _range(each["exact"]))
        more = (_share(each["within"]["share"]), _share(each["judged"]["share"]))
        turns = (f"{each['rounds']:.1f}", f"{each['ordered']:.1f}", f"{each['tokens']:,.0f}")
        whose = " by rules" if each["faults"].get("left") == each["n"] else ""
        rows.append((f"{name}{whose}", f"{each['n']:,}", *shares, *more, *turns))
    by = {who: clean(name) for who, name in result["played_by"].items()}
    said = [f"doctor: {by['doctor']}; patient and measurement: {by['patient']}; judge: {by['judge']}"]
    said.append(f"{100 * result['coverage']:.1f} % of the cases have a diagnosis that the graph ranks")
    for name, each in result["doctors"].items():
        if each["ten_of_covered"] is not None:
            first, ten = _share(each["exact_of_covered"]), _share(each["ten_of_covered"])
            said.append(f"{name}: of those {first} first, {ten} among ten")
        wrong = ", ".join(f"{kind} {number:,}" for kind, number in each["faults"].items())
        if wrong:
            said.append(f"{name}: {wrong}")
    return Group(narrow(columns, rows), Text(), *map(Text, said), *_failures(result["failed"]))


def paired_figures(result: Figures, folder: Path) -> RenderableType:
    """Return the comparison of answers with and without the graph."""
    columns = ("", "pairs", "with", "without", "difference", "95 %", "w/t/l", "p")
    rows = [("all", *_paired_row(result["all"]))] if result["all"] else []
    if result["all"] and result["all"]["failures_as_0"]:
        rows.append(("failed answers as 0", *_paired_row(result["all"]["failures_as_0"])))
    for group in result["groups"].values():
        rows += [(name, *_paired_row(figures)) for name, figures in group.items() if figures]
    spent = result["spent"]
    asked = max(1, max(result["answered"].values()))
    each = f"{spent['calls'] / asked:.1f} answers, {(spent['read'] + spent['written']) / asked:,.0f} tokens a question"
    answered = ", ".join(f"{number:,} {arm}" for arm, number in result["answered"].items())
    margin = result["all"]["margin"] if result["all"] else 0.0
    facts = [
        f"w/t/l: won, tied (less than {margin:g} apart) and lost with the graph; p: sign test over questions",
        f"{count(spent['calls'], 'answer')} of models, {spent['read']:,} tokens read and {spent['written']:,} written"
        + (f", cost {spent['cost']:.4g}" if spent["cost"] else ""),
        each + (f", cost {spent['cost'] / asked:.2g}" if spent["cost"] else ""),
        f"kept in {folder}: results.jsonl, summary.json",
    ]
    if result["open"]:
        facts.append(f"{count(result['open'], 'question')} not done: run the same command again")
    head = f"{count(result['questions'], 'question')}, answered by {clean(result['model'])} ({answered} the graph)"
    return Group(
        Text(head),
        Text(f"judged by {clean(result['judge'])}" if result["judge"] else "not judged"),
        *([narrow(columns, rows)] if rows else []),
        *([Text(), *_classic(result["all"])] if result["all"] else []),
        Text(),
        *(Text(fact) for fact in facts),
        *(Text(f"note: {clean(warning)}", style="yellow") for warning in result["warnings"]),
        *([Text(f"stopped: {clean(result['stopped'])}", style="red")] if result["stopped"] else []),
        *_failures([{**each, "id": f"{each['id']} ({each['step']})"} for each in result["failed"]]),
    )


def _by_action(result: Figures) -> RenderableType:
    splits = list(result["split"])
    columns = ("recall by action", "n", *(splits or ["all"]), "MRR", "precision", "chose")
    rows = []
    for action, figures in result["action"].items():
        parts = [result["action/split"].get(f"{action}/{split}") for split in splits] or [figures]
        recalls = [((part or {}).get("recall") or {}).get("mean") for part in parts]
        rest = (figures[name] for name in ("mrr", "precision", "chose"))
        rows.append((action, figures["n"], *map(_share, (*recalls, *rest))))
    return narrow(columns, rows)


def _recall_row(figures: Figures) -> tuple[object, ...]:
    recall = figures["recall"] or {}
    rest = (_share(figures[name]) for name in ("mrr", "precision", "chose", "citations"))
    return (figures["n"], _share(recall.get("mean")), _range(recall), *rest)


def _paired_row(figures: Figures) -> tuple[object, ...]:
    return (
        figures["n"],
        *(_share(figures[name]["mean"]) for name in ("treated", "control")),
        f"{figures['difference']['mean']:+.3f}",
        _range(figures["difference"]),
        "/".join(f"{figures[name]:,}" for name in ("wins", "ties", "losses")),
        "" if figures["sign_p"] is None else f"{figures['sign_p']:.2g}",
    )


def _classic(figures: Figures) -> Iterator[Text]:
    parts = []
    if figures["deviations"] is not None:
        parts.append("standard deviation {:.3f} with, {:.3f} without".format(*figures["deviations"]))
    if figures["t"] is not None:
        parts.append(f"paired t {figures['t']:.2f} (p {figures['t_p']:.2g})")
        parts.append(f"Cohen's d {figures['cohens_d']:.2f}")
    if figures["gain"] is not None:
        parts.append(f"relative gain {figures['gain']:+.1%}")
    if parts:
        yield Text("; ".join(parts))


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _range(interval: Figures) -> str:
    low, high = interval.get("low"), interval.get("high")
    return "" if low is None or high is None else f"{low:.3f}–{high:.3f}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _failed(failed: list[Figures]) -> Iterator[str]:
    return first_of([f"{clean(each['id'])}: {clean(each['error'])}" for each in failed], _LISTED)


def _failures(failed: list[Figures]) -> Iterator[Text]:
    if not failed:
        return
    yield Text()
    yield Text(f"{count(len(failed), 'piece')} of work failed:", style="yellow")
    yield from (Text(f"  {line}") for line in _failed(failed))


_STEPS = (0, 5, 10, 20)
"""Numbers of questions whose accuracy is a column, beside the last one."""


def inquiry_figures(result: Figures) -> RenderableType:
    """Return accuracy by number of questions, by kind of answers, group of patients and selector."""
    rows = [row for how, told in result["answers"].items() for row in _rows(how, told["selectors"])]
    last = max(len(each["by_question"]) for each in result["selectors"].values()) - 1
    steps = [step for step in _STEPS if step < last] + [last]
    columns = ("Answers", "patients", "selector", *(f"after {step}" for step in steps), "to degree", "yes", "ms")
    told = []
    for row in rows:
        reached = (row[3][min(step, len(row[3]) - 1)] for step in steps)
        shown = (f"{100 * each['top1']:.0f} / {100 * each['top10']:.0f}" for each in reached)
        told.append((*row[:3], *shown, *row[4:]))
    table = narrow(columns, told, text=3)
    table.columns[2].no_wrap = True
    return Group(
        Text(f"{count(result['n'], 'patient')}; the truth first / among the first ten, in percent"),
        Text(),
        table,
        Text(),
        Text("to degree  questions until the truth is first as often as for degree after the last", style="dim"),
        Text("yes        share of the questions that were answered with yes", style="dim"),
        *(Text(line, style="yellow") for line in _failed(result["failed"])),
    )


def _rows(how: str, selectors: Figures) -> Iterator[tuple[Any, ...]]:
    for name, told in selectors.items():
        groups = {"all": told, **{key: each for key, each in told["groups"].items() if "questions_to" in each}}
        for group, figures in groups.items():
            needed = figures["questions_to"].get("degree")
            yes = "" if told["hits"] is None else f"{100 * told['hits']:.0f} %"
            spent = "" if told["ms_median"] is None else f"{told['ms_median']:.1f}"
            yield how, group, clean(name), figures["by_question"], "" if needed is None else needed, yes, spent


_UNKNOWN = 8
"""Labels that no candidate has that are named."""
_STAGES = ("behind", "lost in re-ranking", "missed in retrieval", "not in the graph", "failed")
_KIN = ("synonym", "group", "subtype", "family")
_NDCG = "10"
_LABELS = 30
"""Labels that are shown, the worst; --json has all."""


def retrieval_figures(result: Figures) -> RenderableType:
    """Return hits at each K with intervals over patients and labels, differences in pairs, and kinds of errors."""
    parts: list[RenderableType] = []
    for group, said in (("in_graph", "cases whose diagnosis is a candidate"), ("methods", "all cases")):
        if result[group] and (group == "in_graph" or result["labels"]["unknown"] or not result["in_graph"]):
            parts += [Text(f"{said}, in percent (95 % interval)"), _hits(result[group]), Text()]
    if result["paired"]:
        base = next(iter(result["paired"].values()))["against"]
        parts += [Text(f"difference from {clean(base)}, in points, in pairs"), _pairs(result["paired"]), Text()]
    parts += [Text("where the diagnosis was lost, percent of all cases"), _lost(result["methods"]), Text()]
    for name, told in list(result["in_graph"].items())[:1]:
        parts += [Text(f"{clean(name)} by label, the worst first, in percent"), _by_label(told["labels"]), Text()]
    return Group(*parts, *(Text(fact) for fact in _retrieval_facts(result)))


def _hits(methods: Figures) -> RenderableType:
    at = list(next(iter(methods.values()))["hit"])
    ndcg = _NDCG if _NDCG in at else at[-1]
    columns = ("Method", "n", *(f"H@{k}" for k in at), f"NDCG@{ndcg}", "ms")
    rows = []
    for name, told in methods.items():
        for head, each in ((clean(name), told), ("  mean over labels", told["by_label"])):
            spent = "" if each is not told or told["ms_median"] is None else f"{told['ms_median']:.1f}"
            hits = (percent(each["hit"][k], each["ci95"]["hit"][k]) for k in at)
            gain = percent(each["ndcg"][ndcg], each["ci95"]["ndcg"][ndcg])
            rows.append((head, f"{each['n']:,}", *hits, gain, spent))
    return narrow(columns, rows)


def _pairs(paired: Figures) -> RenderableType:
    at = list(next(iter(paired.values()))["hit"])
    rows = [
        (clean(name), *(percent(each["hit"][k], each["ci95"]["hit"][k], signed=True) for k in at))
        for name, each in paired.items()
    ]
    return narrow(("Method", *(f"H@{k}" for k in at)), rows)


def _lost(methods: Figures) -> RenderableType:
    stages = [stage for stage in _STAGES if any(stage in each["stages"] for each in methods.values())]
    kin = [each for each in _KIN if any(each in told["kin"] for told in methods.values())]
    columns = ("Method", *stages, *(f"first is a {each}" for each in kin))
    rows = []
    for name, told in methods.items():
        shares = [told["stages"].get(each) for each in stages] + [told["kin"].get(each) for each in kin]
        rows.append((clean(name), *map(_percent, shares)))
    return narrow(columns, rows)


def _by_label(labels: Figures) -> RenderableType:
    at = list(next(iter(labels.values()))["hit"])
    rows = []
    for name, told in sorted(labels.items(), key=lambda label: sum(label[1]["hit"].values()))[:_LABELS]:
        rows.append((clean(name), clean(told["instead"]), told["n"], *(_percent(told["hit"][k]) for k in at)))
    return narrow(("Label", "mostly first instead", "n", *(f"H@{k}" for k in at)), rows, text=2)


def _retrieval_facts(result: Figures) -> Iterator[str]:
    labels = result["labels"]
    yield f"{labels['in_graph']:,} of {count(labels['n'], 'label')} among {count(result['n_candidates'], 'candidate')}"
    if labels["unknown"]:
        named = ", ".join(map(clean, labels["unknown"][:_UNKNOWN]))
        more = f", and {len(labels['unknown']) - _UNKNOWN:,} more" if len(labels["unknown"]) > _UNKNOWN else ""
        yield f"no candidate is named so: {named}{more}"
    if result["unlabelled"]:
        yield f"{count(result['unlabelled'], 'case')} without a diagnosis: left out"
    for name, failed in result["failed"].items():
        if failed:
            first = clean(failed[0]["error"])
            yield f"{clean(name)}: {count(len(failed), 'case')} failed and count as misses; the first: {first}"
    yield from not_run(result)


MEASURES = (("acc1", "Acc@1"), ("acc5", "Acc@5"), ("hit20", "Acc@20"))
"""Keys of the figures, and how the field calls them."""


BLOCKS: Mapping[int | None, str] = {
    0: "nothing asked",
    **{most: f"up to {most} questions" for most in (5, 10, 20)},
    None: "more than 20 questions",
}
"""Budget of questions → title of the methods that keep within it."""


def leaderboard_figures(result: Figures) -> RenderableType:
    """Return the table: all patients beside those that are unseen, in blocks of equal budgets, the best first."""
    first, every = next(iter(result["methods"].items()))
    group, unseen, n = group_of(result), every["unseen"], every["n"]
    rows: list[tuple[str, ...]] = []
    for budget, title in BLOCKS.items():
        block = [(name, told) for name, told in ordered(result) if result["methods"][name].get("budget") == budget]
        if block:
            rows.append((f"{title}:",))
            rows += [tuple(_row(f"  {name}", result["methods"][name], told)) for name, told in block]
    shown = [head for _, said in MEASURES for head in ((said, "unseen") if unseen else (said,))]
    costs = any(told["cost"] for told in result["methods"].values())
    columns = ("Method", *shown, "− first", "asked", "ms", *(("cost",) if costs else ()))
    rows = [(*row, *[""] * (len(columns) - len(row)))[: len(columns)] for row in rows]
    whom = f"; {unseen['n']:,} unseen: the graph does not cite their publication" if unseen else ""
    of = "unseen patients" if group == "unseen" else "all patients"
    return Group(
        Text(f"{count(n, 'patient')}{whom}; in percent (95 % over publications)"),
        narrow(columns, rows),
        Text(),
        Text(f"− first: Acc@1 of {of} less that of {clean(first)}, in pairs; * its interval leaves out 0", style="dim"),
        *(Text(fact) for fact in facts(result)),
    )


def group_of(result: Figures) -> str:
    """Return which patients the order is by: the unseen ones, where there are any."""
    return "unseen" if all(told.get("unseen") for told in result["methods"].values()) else "all"


def ordered(result: Figures) -> list[tuple[str, Figures]]:
    """Return the methods with their figures of that group, by budgets of questions and then best first."""
    group, budgets = group_of(result), list(BLOCKS)
    told = {name: each["unseen"] if group == "unseen" else each for name, each in result["methods"].items()}

    def key(item: tuple[str, Figures]) -> tuple[float, ...]:
        name, each = item
        budget = budgets.index(result["methods"][name].get("budget"))
        return budget, -each["acc1"], -each["acc5"], each["actions"]

    return sorted(told.items(), key=key)


def _row(name: str, every: Figures, told: Figures) -> Iterator[str]:
    yield clean(name)
    for place, (key, _) in enumerate(MEASURES):
        if told is not every:
            yield f"{100 * every[key]:.1f}"
        yield percent(told[key], () if place else told["ci95"][key])
    low, high = told["against"]["ci95"]["acc1"]
    yield f"{100 * told['against']['acc1']:+.1f}{'*' if low > 0 or high < 0 else ' '}"
    yield f"{told['questions']:.1f}"
    yield "" if told["ms"] is None else f"{told['ms']:.1f}"
    yield f"{told['cost']:.2f}" if told["cost"] else ""


def facts(result: Figures) -> Iterator[str]:
    """Yield what a reader has to know of some methods: who did not run, or could not rank everybody."""
    if result["left_out"]:
        yield f"{count(result['left_out'], 'patient')} with a disease that the graph does not describe: left out"
    for name, remark in result["remarks"].items():
        yield f"{clean(name)}: {clean(remark)}"
    failed = [f"{clean(name)} {told['failed']:,}" for name, told in result["methods"].items() if told["failed"]]
    if failed:
        yield f"patients of whom nothing could be ranked, which are misses: {', '.join(failed)}"
    yield from not_run(result)


_REFUSED = 5


def options_figures(result: Figures) -> RenderableType:
    """Return the table of arms, the differences in pairs, and the facts of the set."""
    arms = {name: told for name, told in result["arms"].items() if told}
    columns = ("arm", "n", "accuracy (95 %)", "chance", "letters", "unread", "needed", "calls", "tokens", "s", "cost")
    rows = [(clean(name), *row_of(told)) for name, told in arms.items()]
    pairs = ("difference", "n", "points (95 %)", "w/l", "p")
    parts: list[RenderableType] = [
        Text(f"{count(result['asked'], 'question')} asked of {clean(', '.join(result['models']))}"),
        narrow(columns, rows),
    ]
    if result["differences"]:
        parts += [Text(), narrow(pairs, [pair_of(each) for each in result["differences"]])]
    for table in _groups(result):
        parts += [Text(), table]
    return Group(*parts, Text(), *(Text(fact) for fact in facts_of(result)))


def row_of(told: Figures) -> tuple[str, ...]:
    """Return the cells of an arm's row behind its name."""
    about, needed = told["accuracy"], told["needed"]["shown"]
    return (
        f"{told['n']:,}",
        percent(about["share"], (about["low"], about["high"])),
        f"{100 * told['chance']:.0f}",
        "/".join(f"{100 * share:.0f}" for share in told["letters"].values()),
        f"{100 * told['unreadable']:.1f}",
        "" if needed is None else f"{100 * needed:.1f}",
        f"{told['calls']:.1f}",
        f"{told['read'] + told['written']:,.0f}",
        f"{told['ms_median'] / 1000:.2f}",
        f"{told['cost']:.2f}" if told["cost"] else "",
    )


def pair_of(told: Figures) -> tuple[str, ...]:
    """Return the cells of a difference between two arms."""
    about = told["difference"]
    points = percent(about["mean"], (about["low"], about["high"]), signed=True)
    p = "" if told["sign_p"] is None else f"{told['sign_p']:.2g}"
    name = f"{clean(told['arm'])} − {clean(told['against'])}"
    return name, f"{told['n']:,}", points, f"{told['wins']}/{told['losses']}", p


def facts_of(result: Figures) -> Iterator[str]:
    """Yield what is to be said of the set and of the run, a line each."""
    yield "chance: accuracy of guesses; letters: shares of A/B/… among answers, in percent (options stand by chance)"
    yield "unread: answers that choose none or two, in percent; s: median time of a question"
    yield "needed: of the questions whose documents are known, for how many one was shown, in percent"
    yield "w/l: questions that only one arm has right, p: exact McNemar test; intervals over subjects"
    if result["without_gold"]:
        yield f"{count(result['without_gold'], 'question')} without a right option: not asked"
    about = result.get("contamination")
    if about is not None:
        yield (
            f"{about['overlapping']:,} of {about['n']:,} questions share a run of words with a text that is searched, "
            f"{about['whole']:,} of them nearly all words"
        )
    for name, told in result["arms"].items():
        for error, number in (told or {}).get("errors", {}).items():
            yield f"{clean(name)}: {count(number, 'question')} with an error ({clean(error)})"
    yield from not_run(result)
    refused = result.get("refused", ())
    if refused:
        yield f"{count(len(refused), 'row')} refused:"
        yield from (f"  {line}" for line in first_of([*map(clean, refused)], _REFUSED))
    if result["open"]:
        yield f"{count(result['open'], 'answer')} not made: run the same command again"


def _groups(result: Figures) -> Iterator[RenderableType]:
    for field, values in result["groups"].items():
        if len(values) < 2:
            continue
        columns = (field.replace("_", " "), "n", *map(clean, result["arms"]))
        rows = []
        for value, told in values.items():
            shares = ("" if arm["accuracy"] is None else f"{100 * arm['accuracy']:.1f}" for arm in told.values())
            rows.append((clean(value), f"{max(arm['n'] for arm in told.values()):,}", *shares))
        yield narrow(columns, rows)
