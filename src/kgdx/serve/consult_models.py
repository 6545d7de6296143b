"""The forms of requests and responses of a consultation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from kgdx.results.consulted import ConsultationDocument
from kgdx.results.ranked import DiagnosisDocument
from kgdx.serve.http_models import NUMBER, Id, PatientInput, RequestBody


class Consult(PatientInput):
    """A patient to begin a consultation with; nothing need be known."""

    questions: Annotated[int, Field(ge=0, le=100), NUMBER] = Field(20, description="Most questions.")
    certain: Annotated[float, Field(gt=0, le=1), NUMBER] = Field(
        0.6, description="Share of the leading disease at which no more is asked."
    )
    selector: Annotated[str, Field(max_length=60)] | None = Field(None, description="How the questions are chosen.")
    speaks: Literal["en", "zh"] | None = Field(None, description="Of the questions; that of the words when absent.")

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"observed": ["HP:0001251"], "speaks": "en"}]}
    )


class ConsultationReply(RequestBody):
    """An answer to the question of a consultation, with all that was said before: the server keeps nothing."""

    transcript: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=2_000)] = Field(
        description="As it came with the question."
    )
    what: Literal["answer", "skip", "back", "finish", "show"] = Field(
        "answer", description="`back` takes the last answer back; `show` only repeats the question."
    )
    number: Annotated[int, Field(ge=0), NUMBER] | None = Field(
        None, description="Of the question that is answered; another one is refused."
    )
    status: Literal["present", "absent", "unknown"] | None = Field(
        None, description="Of the finding that was asked for."
    )
    named: Annotated[list[Id], Field(max_length=200)] = Field([], description="Ids of the options that are chosen.")
    text: Annotated[str, Field(max_length=100_000)] = Field("", description="The answer in words, instead.")
    speaks: Literal["en", "zh"] | None = Field(None, description="Language to go on in; as before when absent.")

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"transcript": [{"kind": "start"}], "number": 1, "status": "present"}]},
    )


class ConsultationState(ConsultationDocument):
    """A consultation as it stands, with the ranked diseases once it has ended."""

    diagnosis: DiagnosisDocument | None = Field(None, description="Once no question waits any more.")
