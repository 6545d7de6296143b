"""The DX dataset's list of normalised symptoms with what patients say for them: ``symptom<TAB>wording/wording/…``."""

from __future__ import annotations

from pathlib import Path

from kgdx.errors import SourceError
from kgdx.load.fetch import read_text
from kgdx.load.manifest import Manifest
from kgdx.load.records import Records, minted
from kgdx.load.sources.documents import WORDS, Reading, phrase, problem_of_phrase

VERSION = "1"
FRAMES = {"symptom": ("id", "name", "synonyms")}

DIALOGUES = "dx_dialogues"
"""The source whose symptoms these are: its ids are minted in that name, so that both give one node."""

LONGEST_LINE = 1 << 17
"""Characters beyond which a line is taken for damage."""


def read(path: Path, manifest: Manifest) -> Records:
    """Read the list as the frame ``symptom``; a wording that is the symptom itself, or stands twice, is left out.

    Raises:
        SourceError: The file is unreadable, or no line is of the form.
    """
    reading = Reading(FRAMES, {"synonyms": WORDS})
    for line, raw in enumerate(read_text(path).split(b"\n"), 1):
        if not raw.strip():
            continue
        text = raw.decode("utf-8", "replace")
        if len(text) > LONGEST_LINE:
            reading.refuse(line, text, f"the line has {len(text):,} characters")
            continue
        name, tab, wordings = text.partition("\t")
        name = phrase(name)
        damaged = "it is not UTF-8 text" if "\ufffd" in text or "\0" in text else None
        reason = damaged or ("it has no tab after the symptom" if not tab else problem_of_phrase(name))
        if reason:
            reading.refuse(line, text, reason)
            continue
        said = dict.fromkeys(phrase(each) for each in wordings.split("/"))
        synonyms = [each for each in said if each != name and not problem_of_phrase(each)]
        reading.rows["symptom"].append((line, minted(DIALOGUES, "Symptom", name), name, synonyms))
    if not reading.rows["symptom"]:
        reason = reading.rejects[0][3] if reading.rejects else "it is empty"
        raise SourceError(f"{path} has no symptom ({reason})", hint="give lines of symptom<TAB>wording/wording")
    return reading.records()
