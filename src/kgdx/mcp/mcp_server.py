"""Serves the tools: over standard input and output, or over HTTP behind the guard of ``kgdx serve``."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, JsonValue

import kgdx
from kgdx.episode.state import Limits
from kgdx.errors import KgdxError, MissingExtraError, UsageError
from kgdx.llm.chat import Message, estimated_tokens
from kgdx.render.terminal.console import text as as_text
from kgdx.serve.server_options import Options

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from rich.console import RenderableType

    from kgdx.api import Graph
    from kgdx.api.consulting import Consultation
    from kgdx.case import Case
    from kgdx.episode.wish import Action

WIDTH = 120
"""Letters of a line."""

CONSULTATIONS = 100
"""Consultations that are kept; the one that has been quiet longest is forgotten first."""

Words = Annotated[str, Field(max_length=100_000, description="The patient in words, English or Chinese.")]
Terms = Annotated[
    list[Annotated[str, Field(max_length=500)]],
    Field(max_length=200, description="Findings that are present: HPO ids, labels or phrases."),
]
Absent = Annotated[
    list[Annotated[str, Field(max_length=500)]],
    Field(max_length=200, description="Findings that are known to be absent."),
]
Sex = Literal["FEMALE", "MALE", "OTHER", "UNKNOWN"]
Age = Annotated[str | None, Field(max_length=40, description="Such as P7Y3M, 7 years or 3 months.")]
Room = Annotated[int, Field(ge=100, le=20_000, description="Most tokens of the result.")]
Top = Annotated[int, Field(ge=1, le=50, description="How many diseases.")]

ROOM = 1_500
"""Tokens of a result where nobody asks for more."""


def fitted(text: str, room: int) -> str:
    """Return as many whole lines as have room, and say how many are left out."""
    lines, kept, left = text.rstrip("\n").split("\n"), [], room - 20
    for line in lines:
        left -= estimated_tokens([Message("user", line)]) - 3
        if left < 0:
            break
        kept.append(line.rstrip())
    if more := len(lines) - len(kept):
        kept.append(f"… {more} more {'line' if more == 1 else 'lines'}: ask for more with `tokens`")
    return "\n".join(kept)


def shown(what: RenderableType, room: int) -> str:
    """Return what a person would read in a terminal, as far as it has room."""
    return fitted(as_text(what, WIDTH), room)


class Tools:
    """The tools of an open graph; each method is one, and its docstring tells an assistant what it is for."""

    def __init__(self, graph: Graph, **reading: Any) -> None:
        self.graph, self._reading = graph, reading
        self._consultations: OrderedDict[str, Consultation] = OrderedDict()

    @property
    def every(self) -> tuple[Callable[..., str], ...]:
        """All of them."""
        return (
            self.diagnose,
            self.explain,
            self.ask,
            self.search,
            self.look_up,
            self.consult_begin,
            self.consult_answer,
        )

    def diagnose(
        self,
        text: Words = "",
        observed: Terms = [],  # noqa: B006 - it is never changed
        excluded: Absent = [],  # noqa: B006
        sex: Sex = "UNKNOWN",
        age: Age = None,
        top: Top = 5,
        explained: Annotated[int, Field(ge=0, le=5, description="For how many of them to say why.")] = 2,
        tokens: Room = ROOM,
    ) -> str:
        """Rank the diseases that fit a patient, by a knowledge graph, and say what speaks for and against the first.

        Fit is a ranking score, no probability. What could not be read is named. It is decision support for research.
        """
        from kgdx.render.terminal.diagnosis_text import diagnosis

        found = self.graph.diagnose(self._case(text, observed, excluded, sex, age), top=top, explain=explained)
        return shown(diagnosis(found, explain=explained), tokens)

    def explain(
        self,
        disease: Annotated[str, Field(max_length=300, description="Its id or name.")],
        text: Words = "",
        observed: Terms = [],  # noqa: B006
        excluded: Absent = [],  # noqa: B006
        sex: Sex = "UNKNOWN",
        age: Age = None,
        tokens: Room = ROOM,
    ) -> str:
        """Show all that speaks for and against one disease in a patient, with the sources, wherever it is ranked."""
        from kgdx.render.terminal.diagnosis_text import explanation

        wanted = self.graph.ranked_disease(disease)
        found = self.graph.explain(self._case(text, observed, excluded, sex, age), wanted)
        return shown(explanation(found, found.candidate(wanted)), tokens)

    def ask(
        self,
        question: Annotated[str, Field(min_length=1, max_length=4_000)],
        tokens: Room = ROOM,
    ) -> str:
        """Answer a medical question in words from the graph alone, with the evidence for each sentence.

        Such as "Which gene causes Marfan syndrome?", in English or Chinese. No language model is asked.
        """
        from kgdx.render.terminal.answer_text import answer

        return shown(answer(self.graph.ask(question, policy="rules", pubmed=False)), tokens)

    def search(
        self,
        name: Annotated[
            str, Field(min_length=1, max_length=300, description="A name, the beginning of one, or an id.")
        ],
        kinds: Annotated[
            list[Annotated[str, Field(max_length=40)]], Field(max_length=10, description="Disease, Phenotype, Gene …")
        ] = [],  # noqa: B006
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
        tokens: Room = ROOM,
    ) -> str:
        """Find diseases, findings, genes and the like by what people call them."""
        from kgdx.render.terminal.graph_text import rows

        found = self.graph.search(name, *kinds, limit=limit).to_dicts()
        return shown(rows(("id", "kind", "name", "matched"), found), tokens)

    def look_up(
        self,
        action: Annotated[str, Field(max_length=60, description="One of those in the resource kgdx://actions.")],
        fields: Annotated[dict[str, JsonValue], Field(description='Its fields, such as {"diseases": ["Gout"]}.')],
        tokens: Room = ROOM,
    ) -> str:
        """Look up what the sources state: findings, genes, tests or medicines of diseases, or diseases that have them.

        Each row has its source. The resource kgdx://actions lists all actions with their fields; get_phenotype
        and get_gene take diseases, infer_by_phenotype takes phenotypes, infer_by_gene takes genes.
        """
        from kgdx.answer.artifacts import Retrieved
        from kgdx.case import Case
        from kgdx.episode import State, step
        from kgdx.episode.wish import parse_action

        made = step(self.graph, State(Case("question")), parse_action({**fields, "action": action}, readable()))
        lines: list[str] = []
        for found in made.all(Retrieved):
            lines += [f"{each.given} → {', '.join(each.names) or each.reason}" for each in found.resolved]
            lines += [json.dumps(_told(row), ensure_ascii=False, default=str) for row in found.rows] or ["no rows"]
        return fitted("\n".join(lines), tokens)

    def consult_begin(
        self,
        text: Words = "",
        observed: Terms = [],  # noqa: B006
        excluded: Absent = [],  # noqa: B006
        sex: Sex = "UNKNOWN",
        age: Age = None,
        questions: Annotated[int, Field(ge=1, le=100, description="Most questions.")] = 20,
        language: Literal["en", "zh"] | None = None,
        tokens: Room = ROOM,
    ) -> str:
        """Begin a consultation: the graph asks about a patient, one telling question after the other.

        Pass each question on to the person, and the answer to consult_answer.
        """
        case = self._case(text, observed, excluded, sex, age) if text or observed or excluded else None
        how: dict[str, Any] = {"questions": questions} | ({} if language is None else {"speaks": language})
        name = secrets.token_hex(8)
        self._consultations[name] = consultation = self.graph.consult(case, explain=2, **how)
        while len(self._consultations) > CONSULTATIONS:
            self._consultations.popitem(last=False)
        return self._stands(name, consultation, tokens)

    def consult_answer(
        self,
        consultation: Annotated[str, Field(max_length=40, description="As consult_begin named it.")],
        answer: Annotated[
            str, Field(max_length=20_000, description="yes, no, unknown, numbers of options, or words.")
        ] = "",
        what: Annotated[
            Literal["answer", "skip", "back", "finish"], Field(description="back: take the last answer back.")
        ] = "answer",
        tokens: Room = ROOM,
    ) -> str:
        """Answer the question of a consultation, and get the next one, or the ranked diseases at its end."""
        going = self._consultations.get(consultation)
        if going is None:
            raise UsageError(
                "there is no such consultation", hint="begin one with consult_begin; they end with the server"
            )
        self._consultations.move_to_end(consultation)
        if what == "answer":
            going.answer(answer)
        else:
            {"skip": going.skip, "back": going.back, "finish": going.finish}[what]()
        return self._stands(consultation, going, tokens)

    def about(self) -> str:
        """Return what the graph holds and was made of."""
        status = self.graph.status()
        told = {name: status[name] for name in ("build", "nodes", "relations")}
        named = [{key: each.get(key) for key in ("id", "version", "licence")} for each in status["sources"]]
        return json.dumps({**told, "sources": named}, ensure_ascii=False, indent=1, default=str)

    def actions(self) -> str:
        return "\n".join(_described(name, kind) for name, kind in readable().items())

    def disease(self, disease: str) -> str:
        """Return what the graph states of a disease."""
        found = self.graph.run("disease_by_id", disease=disease)
        if not found:
            raise UsageError(f"there is no disease {disease[:60]}", hint="find its id with search")
        stated = self.graph.run("phenotypes_of_diseases", diseases=[disease])
        genes = self.graph.run("genes_of_diseases", diseases=[disease], limit=50)
        return fitted(
            "\n".join(json.dumps(_told(each), ensure_ascii=False) for each in (*found, *genes, *stated)), ROOM
        )

    def _case(self, text: str, observed: Sequence[str], excluded: Sequence[str], sex: str, age: str | None) -> Case:
        from kgdx.case import Case, case_from_text, with_terms

        case = case_from_text(text) if text.strip() else Case("asked")
        if observed or excluded:
            case = with_terms(case, self.graph, observed, excluded)
        about: dict[str, Any] = ({} if sex == "UNKNOWN" else {"sex": sex}) | ({} if age is None else {"age": age})
        return self.graph.read_again(self.graph.case(case, **about), **self._reading)

    def _stands(self, name: str, consultation: Consultation, room: int) -> str:
        from kgdx.render.terminal.diagnosis_text import diagnosis

        lines = [f"! {each}" for each in consultation.contradictions]
        if consultation.unread:
            lines.append("(nothing could be read in the last answer; it is kept)")
        question = consultation.question
        if question is None:
            self._consultations.pop(name)
            if not consultation.known:
                return "\n".join([*lines, "It has ended, and nothing is known that the graph could compare."])
            return fitted("\n".join([*lines, as_text(diagnosis(consultation.diagnosis, explain=2), WIDTH)]), room)
        lead = ", ".join(f"{each.name} {each.share:.0%}" for each in consultation.differential[:3])
        lines += [f"consultation: {name}", *([f"leading so far: {lead}"] if lead else [])]
        lines.append(f"question {question.number}: {question.text}")
        lines += [f"  {number} {each.name}" for number, each in enumerate(question.options, 1)]
        return fitted("\n".join(lines), room)


def readable() -> dict[str, type[Action]]:
    """Return the actions that look up what the sources state."""
    from kgdx.answer.artifacts import Retrieved
    from kgdx.episode.wish import ACTIONS

    found: Iterable[tuple[str, type[Action]]] = ((name, kind) for name, kind in ACTIONS.items())
    return {name: kind for name, kind in found if kind.planned and issubclass(kind.makes, Retrieved)}


def _described(name: str, kind: type[Action]) -> str:
    fields = kind.model_json_schema()["properties"]
    said = (kind.__doc__ or "").strip().partition("\n")[0]
    return f"{name}({', '.join(fields)}): {said}"


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value not in (None, "", [])}


PATH = "/api/mcp"
"""Where it is served over HTTP."""

INSTRUCTIONS = """A knowledge graph of diseases with their findings, genes and sources, for diagnosis. With diagnose
rank what fits a patient; with explain say why; with search find names; with look_up read what sources state; with
consult_begin let the graph ask. Results rest on the graph alone: say what it says, with its sources, and what it does
not know. It is decision support for research, to be judged by a clinician. Send nothing that identifies a person."""


class Turns:
    """Runs what is asked in turn, in the thread that opened the graph; nobody waits for what takes long."""

    def __init__(self, opened: Callable[[], Tools], seconds: float) -> None:
        self._seconds = seconds
        self._thread = ThreadPoolExecutor(1, "kgdx-mcp")
        self.tools = self._thread.submit(opened).result()

    async def run(self, work: Callable[[], str]) -> str:
        """Return what work comes to, or the one line that says why there is nothing."""
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except TimeoutError:
            return f"error: no answer within {self._seconds:g} s: ask for less at once"
        except KgdxError as error:
            return f"error: {error}"
        except Exception as error:  # its words may be a patient's
            print(f"kgdx mcp: {type(error).__name__} while answering", file=sys.stderr, flush=True)
            return "error: this could not be answered: report it"

    def close(self) -> None:
        """End the thread, and close the graph."""
        self._thread.submit(self.tools.graph.close).result()
        self._thread.shutdown()


def server(turns: Turns) -> MCPServer:
    """Return the server of a graph's tools and resources."""
    try:
        from mcp.server import MCPServer
        from mcp.types import ToolAnnotations
    except ImportError:
        raise MissingExtraError("kgdx mcp", "mcp") from None
    from importlib.metadata import version

    made = MCPServer("kgdx", instructions=INSTRUCTIONS, version=version("kgdx"), log_level="ERROR")
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for tool in turns.tools.every:
        made.add_tool(_turned(turns, tool), annotations=reads, structured_output=False)
    made.resource("kgdx://graph", mime_type="application/json")(_turned(turns, turns.tools.about))
    made.resource("kgdx://actions", mime_type="text/plain")(_turned(turns, turns.tools.actions))
    made.resource("kgdx://disease/{disease}", mime_type="text/plain")(_turned(turns, turns.tools.disease))
    return made


def _turned(turns: Turns, tool: Callable[..., str]) -> Callable[..., Any]:
    """Return a tool of the protocol: with the signature and the words of a method, which runs when its turn comes."""

    @wraps(tool)
    async def asked(**given: Any) -> str:
        return await turns.run(partial(tool, **given))

    return asked


def run(options: Options, *, http: bool, started: Callable[[str], None]) -> None:
    """Serve until the client goes, or over HTTP until told to stop."""
    options.checked()
    turns = Turns(lambda: _opened(options), options.seconds)
    try:
        made = server(turns)
        if http:
            _listen(made, options, started)
        else:
            asyncio.run(made.run_stdio_async())
    finally:
        turns.close()


def _opened(options: Options) -> Tools:
    graph = kgdx.open(options.store, encoder=options.encoder)
    graph.names  # noqa: B018 - opened before anybody waits for it
    how = {"heed_doubts": options.heed_doubts, "limits": Limits(seconds=options.seconds / 2)}
    return Tools(graph, reader=options.reader, **how)


def application(made: MCPServer, options: Options) -> Any:
    """Return the server as an application of HTTP that the guard stands before; it keeps nothing between requests."""
    from mcp.server.transport_security import TransportSecuritySettings

    from kgdx.serve.request_guard import Guard
    from kgdx.serve.run_server import log

    inner = made.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=options.max_body,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard's matter
        host=options.host,
    )
    return Guard(inner, options, log=log)


def _listen(made: MCPServer, options: Options, started: Callable[[str], None]) -> None:
    from kgdx.serve.connections import http_server, places
    from kgdx.serve.run_server import listening

    app: Any = application(made, options)
    with listening(options.host, options.port) as place:
        started(f"http://{options.host}:{place.getsockname()[1]}{PATH}")
        http_server(app, options, places()).run(sockets=[place])
