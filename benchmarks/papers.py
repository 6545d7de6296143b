"""The tables of papers, each by one command, with whatever model is given and what the paper printed beside.

    python -m benchmarks.papers deep-dxsearch cases.jsonl --llm MODEL --max-calls 5000 -o run
    python -m benchmarks.papers rar2 test.jsonl --llm MODEL --base Qwen3-8B --training train.jsonl -o run
    python -m benchmarks.papers deep-dxsearch cases.jsonl --llm MODEL --trained transformers:run/final -o run

A file of ``paper_tables`` (or of one's own, in place of the name) holds the commands of kgdx that run a paper's arms,
the weights and stages of what is trained, where each arm's figures are, and what was printed. Every command runs in
this process, measures by the one runner, and goes on from its folder. An arm that cannot run says why, and gets none.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from functools import reduce
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from rich.console import Group
from rich.text import Text

from kgdx.answer.artifacts import Declared, Retrieved, Searched
from kgdx.cli.commands import application
from kgdx.cli.output import present
from kgdx.config.values import read_yaml
from kgdx.episode.loop import run
from kgdx.episode.state import State
from kgdx.errors import CaseError, ConfigError, KgdxError, UsageError
from kgdx.evaluate.leaderboard import CONTENDERS, Board, PatientResult, PolicyContender
from kgdx.evaluate.metrics import MISS
from kgdx.render.terminal.console import narrow

SHIPPED = Path(__file__).with_name("paper_tables")
"""The papers."""
FLAGS = {
    "llm": "--llm MODEL",
    "judge": "--judge MODEL",
    "base": "--base MODEL, which is trained",
    "training": "--training FILE of questions to train on",
    "vignettes": "--vignettes FILE of texts with their diagnosis, which the model stages",
}
"""Place of a command → the option that fills it."""
SAMPLE, LIMITS, STORE, WIDTH = "sample", ("max-calls", "max-tokens", "max-seconds"), "store", 100
Places = Mapping[str, Sequence[str]]
"""Name of a place, as in ``{llm}`` → the words that it stands for."""


class Checked(BaseModel):
    """Takes no key that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PaperRun(Checked):
    """Commands that give figures to some arms; the last one prints them as JSON."""

    commands: tuple[str, ...]
    settings: dict[str, Any] = {}
    """Written to ``{out}/settings.yaml`` first: a training's configuration."""
    own: bool = False
    """Whether it trains the paper's own model, in whose place one that is trained may be given."""
    places: dict[str, str] = {}
    """What else the commands' places stand for."""


class PaperArm(Checked):
    """A row of the table."""

    run: str = ""
    at: str = ""
    """Keys of the run's figures, parted by strokes."""
    figures: dict[str, str] = {}
    """Figure → its keys below these, parted by points; where they differ from the paper's."""
    printed: dict[str, float] = {}
    """Figure → what the paper has."""
    lacks: str = ""
    """Why nobody can run it with this library."""


class Paper(Checked):
    """A paper's table."""

    title: str
    cite: str
    given: str
    """What is measured on."""
    figures: dict[str, str]
    """Figure → its keys in a run's figures, parted by points; in percent where its name ends so."""
    runs: dict[str, PaperRun]
    arms: dict[str, PaperArm]
    apart: tuple[str, ...]
    """What cannot be compared."""

    @classmethod
    def read(cls, name: str) -> Paper:
        """Read a paper that is shipped, or a file of one's own."""
        shipped = SHIPPED / f"{name}.yaml"
        path = shipped if shipped.is_file() else Path(name)
        if not path.is_file():
            known = ", ".join(sorted(each.stem for each in SHIPPED.glob("*.yaml")))
            raise UsageError(f"no paper {name[:60]!r}", hint=f"one of {known}, or a file of your own")
        try:
            return cls.model_validate(read_yaml(path))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise ConfigError(f"{path}: {place}: {first['msg']}", hint="see one that is shipped") from error
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path} cannot be read ({error})", hint="mend it") from error

    def table(self, places: Places, folder: Path) -> dict[str, Any]:
        """Run every command, and return the table.

        Args:
            places: What the places of the commands stand for.
            folder: Each run has a folder of its own in it; what is finished there is not done again.

        Returns:
            ``arms``: name → ``n`` and ``figures``; ``not_run``: name → why; ``printed``: name → what the paper has;
            ``apart``: what cannot be compared; ``paper``, ``cite`` and the names of the ``figures``.
        """
        results: dict[str, Any] = {}
        refused: dict[str, KgdxError] = {}
        for name, commands in self.runs.items():
            try:
                results[name] = done(commands, places, folder / name.replace(" ", "-"))
            except KgdxError as error:
                refused[name] = error
        arms, not_run = {}, {}
        for name, arm in self.arms.items():
            keys = [_word(key, places) for key in arm.at.split("/")] if arm.at and arm.run in results else []
            found = self._figures(arm, _at(results.get(arm.run), keys))
            if any(value is not None for value in found["figures"].values()):
                arms[name] = found
                continue
            told = _at(results.get(arm.run), ["not_run", *keys[-1:]])
            not_run[name] = arm.lacks or str(refused.get(arm.run) or told or "nothing came of it: see its folder")
        return {
            **{"paper": self.title, "cite": self.cite, "figures": list(self.figures), "arms": arms},
            "printed": {name: arm.printed for name, arm in self.arms.items()},
            **{"not_run": not_run, "apart": list(self.apart)},
        }

    def _figures(self, arm: PaperArm, whole: Any) -> dict[str, Any]:
        paths = self.figures | arm.figures
        found = {name: _at(whole, path.split(".")) for name, path in paths.items()}
        return {"n": _at(whole, ["n"]), "figures": found}


def done(paper_run: PaperRun, places: Places, folder: Path) -> Any:
    """Run commands one after the other, and return what the last one printed as JSON.

    ``{trained}`` is the model that they train; where one is given in its place, nothing is trained.
    """
    ready = paper_run.own and "trained" in places
    given = {**places, "out": [str(folder)], **{name: [text] for name, text in paper_run.places.items()}}
    given |= {} if ready else {"trained": [f"transformers:{folder}/run/final"]}
    wanted = [each for each in paper_run.commands if not (ready and each.startswith(("train ", "learn ")))]
    commands = [filled(command, given) for command in wanted]
    folder.mkdir(parents=True, exist_ok=True)
    if paper_run.settings and not ready:
        text = yaml.safe_dump(_filled_in(paper_run.settings, given), allow_unicode=True)
        (folder / "settings.yaml").write_text(text, encoding="utf-8")
    printed = ""
    for words in commands:
        with redirect_stdout(io.StringIO()) as shown:
            application(words[0])(args=words, prog_name="kgdx", standalone_mode=False)
        printed = shown.getvalue()
    return json.loads(printed)


def filled(command: str, places: Places) -> list[str]:
    """Return the words of a command; a word that is a place alone may become several, or none.

    Example:
        >>> filled("leaderboard {given} --llm {llm} {limits}", {"given": ["a b"], "llm": ["m"], "limits": []})
        ['leaderboard', 'a b', '--llm', 'm']
    """
    found: list[str] = []
    for word in shlex.split(command):
        name = word.removeprefix("{").removesuffix("}")
        found += places[name] if word == f"{{{name}}}" and name in places else [_word(word, places)]
    return found


def _word(word: str, places: Places) -> str:
    try:
        return word.format(**{name: " ".join(words) for name, words in places.items()})
    except KeyError as error:
        name = str(error.args[0])
        raise UsageError(f"nobody says what {name} is", hint=f"give {FLAGS.get(name, name)}") from error


def _filled_in(settings: Any, places: Places) -> Any:
    if isinstance(settings, dict):
        return {name: _filled_in(each, places) for name, each in settings.items()}
    return _word(settings, places) if isinstance(settings, str) else settings


def _at(result: Any, keys: Sequence[str]) -> Any:
    return reduce(lambda found, key: found.get(key) if isinstance(found, dict) else None, keys, result)


class ModelContender(PolicyContender):
    """A policy of which only counts what its model has declared, never the graph's ranking that stands in for it."""

    called = "model"

    def __init__(self, board: Board, member: str) -> None:
        alone = "top=0,remind=no"  # the graph's ranking does not stand in, and nobody is reminded
        super().__init__(board, member if "top=" in member else f"{member}{',' if ':' in member else ':'}{alone}")
        self.name = f"{self.called} {member}"
        self._policy = self._policy.suited(board.graph)

    @classmethod
    def members(cls) -> Iterator[str]:
        """Yield none: it runs where it is named."""
        yield from ()

    def meet(self, id: str) -> PatientResult:
        """Run an episode, and look at what it retrieved."""
        used = self.board.asked_model()
        ward, ranker, right = self.board.ward, self.board.graph.ranker, {*self.board.right(id)}
        episode = run(ward.world_with(used), ward.start(id, seed=ward.seed, policy=self._policy), self._policy)
        used.check()
        if (error := used.error or episode.error) is not None:
            raise CaseError(str(error))
        found = episode.state.last(Declared)
        declared = () if found is None else found.diseases
        ranks = (rank for rank, id in enumerate(declared, 1) if ranker.number_of(id) in right)
        acts = len(episode.state.all(Retrieved)) + len(episode.state.all(Searched)) + 1
        also = {**self._retrieved(episode.state, right), "silent": float(not declared)}
        return PatientResult(float(next(ranks, MISS)), acts, used.cost, 0, also)

    def _retrieved(self, state: State, right: set[int]) -> dict[str, float]:
        """Whether a matched patient has the disease, and whether anything that was retrieved names it."""
        ranker = self.board.graph.ranker
        names = [ranker.names.candidate(number).name.lower() for number in right]
        matched, told = [], []
        for found in state.all(Retrieved):
            ids = {id for row in found.rows for id in (row.get("disease"), *(row.get("diseases") or ())) if id}
            told.append(any(ranker.number_of(id) in right for id in ids))
            matched += told[-1:] if found.action == "match" else []
        for searched in state.all(Searched):
            texts = [f"{each.title} {each.text}".lower() for each in searched.passages]
            told.append(any(name in text for name in names for text in texts))
        return {name: float(any(hits)) for name, hits in (("matched", matched), ("told", told)) if hits}


def shown(result: Mapping[str, Any]) -> Group:
    """Return the table, each figure with the paper's behind it, then what did not run and what cannot be compared."""
    rows = [(name, *_cells(result, name)) for name in result["printed"]]
    reasons: dict[str, list[str]] = {}
    for name, why in result["not_run"].items():
        reasons.setdefault(why, []).append(name)
    told = [f"not run ({why}): {'; '.join(names)}" for why, names in reasons.items()]
    told += [f"not to be compared: {each}" for each in result["apart"]]
    title = f"{result['paper']} ({result['cite']}); the paper's own figures in brackets"
    return Group(Text(title), narrow(("Arm", "n", *result["figures"]), rows), *map(Text, told))


def _cells(result: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield the cells of an arm; one that did not run has the paper's figures alone."""
    arm, printed = result["arms"].get(name, {"n": None, "figures": {}}), result["printed"][name]
    yield "not run" if name in result["not_run"] else str(arm["n"] or "")
    for figure in result["figures"]:
        value, there = arm["figures"].get(figure), printed.get(figure)
        said = "–" if value is None else f"{100 * value:.1f}" if figure.endswith("%") else f"{value:.2f}"
        yield said if there is None else f"{said} ({there:g})"


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paper", help=f"{', '.join(sorted(each.stem for each in SHIPPED.glob('*.yaml')))}; or a file")
    parser.add_argument("given", help="cases or questions, as the paper's file says")
    parser.add_argument("-o", "--out", required=True, help="folder that keeps each run; goes on")
    parser.add_argument("--llm", default=os.environ.get("KGDX_LLM_MODEL"), help="who is asked")
    parser.add_argument("--judge", help="who judges; the model itself by default")
    parser.add_argument("--base", help="a model for transformers to train, for the arms that are trained")
    parser.add_argument("--trained", help="a model that is trained already, in place of the paper's own training")
    parser.add_argument("--training", help="questions to train on, for those arms; cases are split")
    parser.add_argument("--vignettes", help="texts with their diagnosis, from which the model makes cases (medkgi)")
    parser.add_argument("--json", action="store_true")
    for name in (SAMPLE, *LIMITS, STORE):
        parser.add_argument(f"--{name}", help="for each command")
    asked = vars(parser.parse_args(given))
    places = {"sample": _flags(asked, (SAMPLE,)), "limits": _flags(asked, LIMITS), "store": _flags(asked, (STORE,))}
    asked["judge"] = asked["judge"] or asked["llm"]
    for name in ("given", "training", "vignettes", "base", "out"):  # a training's settings lie in another folder
        if asked[name] is not None and (name == "out" or Path(asked[name]).exists()):
            asked[name] = str(Path(asked[name]).absolute())
    places |= {place: [asked[place]] for place in ("given", "trained", *FLAGS) if asked[place] is not None}
    CONTENDERS.register("model", ModelContender)
    present(Paper.read(asked["paper"]).table(places, Path(asked["out"])), asked["json"], shown, WIDTH)


def _flags(asked: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    found = {name: asked[name.replace("-", "_")] for name in names}
    return [word for name, value in found.items() if value is not None for word in (f"--{name}", value)]


if __name__ == "__main__":
    try:
        main()
    except KgdxError as error:
        sys.exit(str(error))
