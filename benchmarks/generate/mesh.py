"""Make files of MeSH's shape and size; `python -m benchmarks.generate.mesh FOLDER`, from the top of a checkout.

Writes desc2025.xml (by default 30,000 records, about 330 MB), and with `--supplements N` supp2025.xml (N records) and
qual2025.xml. Elements, their order, attributes and indentation are those of NLM's files; the tree is consistent (each
place lies below one that exists, a descriptor has up to four), names are unique, and their words are made of medical
word parts. The same seed gives the same bytes.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import escape

RECORDS = 30_000
SUPPLEMENTS = 320_000
SEED = 17
QUALIFIERS = 76
ALLOWED = 27
"""Qualifiers that a descriptor allows, on the average: they are most of the file."""
BRANCHES = "ABCDEFGHIJKLMNVZ"
TAGS = ("NON", "NON", "NON", "NON", "ABB", "ACR", "EPO", "LAB", "NAM", "TRD")

_split = str.split
_HEADS = _split(
    "acro adeno angio arthro blepharo broncho cardio cephalo cerebro cholecysto chondro cranio cysto dermato "
    "entero erythro fibro gastro glosso haemo hepato hystero kerato laryngo leuko lipo lympho meningo myelo myo "
    "nephro neuro oculo osteo oto pancreato patho phlebo pneumo procto psycho pyelo rhino sclero spleno spondylo "
    "thoraco thrombo thyro tracheo uretero vaso ventriculo"
)
_TAILS = _split(
    "algia blastoma cele cytosis desis dynia dysplasia ectasis ectomy emesis emia genesis itis lysis malacia "
    "megaly metry necrosis oma opathy osis penia pexy phobia plasia plasty plegia poiesis ptosis rrhage rrhoea "
    "sclerosis scopy spasm stasis stenosis stomy tomy trophy"
)
_LINKS = _split("acute chronic congenital familial hereditary idiopathic infantile juvenile primary secondary")
_PROSE = _split(
    "a disorder of the in which patients with and by often without that is characterized loss development "
    "response tissue cells proteins receptors membranes acids synthesis inflammation degeneration usually "
    "childhood include"
)


class Words:
    """Names that are all different, and prose."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._known: set[str] = set()

    def word(self) -> str:
        """A word of two parts."""
        return self.random.choice(_HEADS) + self.random.choice(_TAILS)

    def name(self) -> str:
        """One to three words that no earlier name has."""
        while True:
            words = [self.word() for _ in range(self.random.choice((1, 1, 2, 2, 3)))]
            if self.random.random() < 0.3:
                words.insert(0, self.random.choice(_LINKS))
            if self.random.random() < 0.05:
                words.append(f"& {self.word()}")
            name = " ".join(words).capitalize()
            if name not in self._known:
                self._known.add(name)
                return name

    def prose(self, words: int) -> str:
        """Running text."""
        return " ".join(self.random.choices(_PROSE, k=words)).capitalize() + "."


def tree(records: int, seed: int) -> list[list[str]]:
    """Places of each record in the tree; a record's places lie below earlier records only, so there is no cycle."""
    pick = random.Random(seed)
    children: dict[str, int] = {}
    places: list[str] = []
    found: list[list[str]] = []
    for number in range(records):
        own = []
        for _ in range(pick.choices((1, 2, 3, 4), (55, 30, 10, 5))[0]):
            if number < 120 or not places:
                branch = BRANCHES[number % len(BRANCHES)]
                children[branch] = children.get(branch, 0) + 1
                own.append(f"{branch}{children[branch]:02d}")
                continue
            above = places[int(pick.random() ** 1.3 * len(places))]
            while above.count(".") > 10:
                above = above.rpartition(".")[0]
            children[above] = children.get(above, 0) + 1
            own.append(f"{above}.{children[above] * 7:03d}")
        found.append(own)
        places += own
    return found


def _date(tag: str, pick: random.Random, indent: str = "  ") -> str:
    year, month, day = pick.randint(1966, 2024), pick.randint(1, 12), pick.randint(1, 28)
    return (
        f"{indent}<{tag}>\n{indent} <Year>{year}</Year>\n{indent} <Month>{month:02d}</Month>\n"
        f"{indent} <Day>{day:02d}</Day>\n{indent}</{tag}>\n"
    )


def _reference(kind: str, ui: str, name: str, indent: str) -> str:
    return (
        f"{indent}<{kind}ReferredTo>\n{indent} <{kind}UI>{ui}</{kind}UI>\n{indent}  <{kind}Name>\n"
        f"{indent}  <String>{escape(name)}</String>\n{indent}  </{kind}Name>\n{indent}</{kind}ReferredTo>\n"
    )


def _allowed(ui: str, name: str, abbreviation: str) -> str:
    return (
        f"   <AllowableQualifier>\n{_reference('Qualifier', ui, name, '    ')}"
        f"    <Abbreviation>{abbreviation}</Abbreviation>\n   </AllowableQualifier>\n"
    )


def _concepts(ui: int, name: str, words: Words, more: int, synonyms: int = 4) -> str:
    """The concepts of a record: the preferred one, and ``more`` narrower, broader or related ones.

    Each has up to ``synonyms`` further terms.
    """
    pick = words.random
    extra = [(f"M{9_000_000 + ui * 10 + n:07d}", words.name(), pick.choice(("NRW", "BRD", "REL"))) for n in range(more)]
    own = f"M{ui:07d}"
    relations = "".join(
        f'     <ConceptRelation RelationName="{kind}">\n     <Concept1UI>{own}</Concept1UI>\n'
        f"     <Concept2UI>{other}</Concept2UI>\n     </ConceptRelation>\n"
        for other, _, kind in extra
    )
    relations = f"    <ConceptRelationList>\n{relations}    </ConceptRelationList>\n" if extra else ""
    parts = []
    for place, (concept, label) in enumerate([(own, name), *((other, label) for other, label, _ in extra)]):
        labels = [label, *(words.name() for _ in range(pick.randint(0, synonyms)))]
        note = f"    <ScopeNote>{words.prose(45)}\n    </ScopeNote>\n" if place == 0 else ""
        parts.append(
            f'   <Concept PreferredConceptYN="{"N" if place else "Y"}">\n    <ConceptUI>{concept}</ConceptUI>\n'
            f"    <ConceptName>\n     <String>{escape(label)}</String>\n    </ConceptName>\n"
            f"    <RegistryNumber>{pick.choice(('0', f'{ui}-{place}-{pick.randint(1, 9)}'))}</RegistryNumber>\n"
            f"{note}{relations}    <TermList>\n{''.join(_terms(ui, place, labels, pick))}    </TermList>\n"
            "   </Concept>\n"
        )
    return f"  <ConceptList>\n{''.join(parts)}  </ConceptList>\n"


def _terms(ui: int, place: int, synonyms: Sequence[str], pick: random.Random) -> Iterator[str]:
    for n, synonym in enumerate(synonyms):
        preferred, record = "YN"[n > 0], "YN"[n > 0 or place > 0]
        tag, term = pick.choice(TAGS), f"T{ui:06d}{place}{n}"
        yield (
            f'     <Term  ConceptPreferredTermYN="{preferred}"  IsPermutedTermYN="N"  LexicalTag="{tag}"  '
            f'PrintFlagYN="Y"  RecordPreferredTermYN="{record}">\n      <TermUI>{term}</TermUI>\n'
            f"      <String>{escape(synonym)}</String>\n{_date('DateCreated', pick, '      ')}"
            f"      <ThesaurusIDlist>\n       <ThesaurusID>NLM ({pick.randint(1966, 2024)})</ThesaurusID>\n"
            "      </ThesaurusIDlist>\n     </Term>\n"
        )
        if " " in synonym and pick.random() < 0.5:
            first, _, rest = synonym.partition(" ")
            yield (
                f'     <Term  IsPermutedTermYN="Y"  LexicalTag="{tag}">\n      <TermUI>{term}</TermUI>\n'
                f"      <String>{escape(f'{rest.capitalize()}, {first}')}</String>\n     </Term>\n"
            )


def descriptors(file: TextIO, records: int, seed: int) -> list[str]:
    """Write a descriptor file; returns the headings."""
    words = Words(seed)
    pick = words.random
    places = tree(records, seed)
    names = [words.name() for _ in range(records)]
    qualifiers = [_allowed(*each) for each in _qualifiers(seed)]
    file.write(_head("DescriptorRecordSet", "descriptorrecordset"))
    for n, (name, numbers) in enumerate(zip(names, places, strict=True)):
        ui = n + 1
        wanted = min(len(qualifiers), max(1, int(pick.gauss(ALLOWED, 6))))
        allowed = "".join(qualifiers[i] for i in sorted(pick.sample(range(len(qualifiers)), wanted)))
        numbered = "".join(f"   <TreeNumber>{number}</TreeNumber>\n" for number in numbers)
        file.write(
            f'<DescriptorRecord DescriptorClass = "1">\n  <DescriptorUI>D{ui:06d}</DescriptorUI>\n'
            f"  <DescriptorName>\n   <String>{escape(name)}</String>\n  </DescriptorName>\n"
            f"{_date('DateCreated', pick)}{_date('DateRevised', pick)}{_date('DateEstablished', pick)}"
            f"  <AllowableQualifiersList>\n{allowed}  </AllowableQualifiersList>\n"
            f"  <HistoryNote>{pick.randint(66, 99)}({pick.randint(63, 66)})\n  </HistoryNote>\n"
            f"{_listed('SeeRelated', 'SeeRelatedDescriptor', n, names, 0.2, pick)}"
            f"{_listed('PharmacologicalAction', 'PharmacologicalAction', n, names, 0.15, pick)}"
            f"  <TreeNumberList>\n{numbered}  </TreeNumberList>\n"
            f"{_concepts(ui, name, words, pick.choices((0, 1, 2), (60, 25, 15))[0])} </DescriptorRecord>\n"
        )
    file.write("</DescriptorRecordSet>\n")
    return names


def _listed(stem: str, tag: str, own: int, names: Sequence[str], share: float, pick: random.Random) -> str:
    """A list of references to other descriptors, which one in so many records has."""
    if pick.random() > share or len(names) < 3:
        return ""
    others = dict.fromkeys(i for i in (pick.randrange(len(names)) for _ in range(pick.randint(1, 3))) if i != own)
    inner = "".join(
        f"   <{tag}>\n{_reference('Descriptor', f'D{i + 1:06d}', names[i], '    ')}   </{tag}>\n" for i in others
    )
    return f"  <{stem}List>\n{inner}  </{stem}List>\n" if inner else ""


def supplements(file: TextIO, records: int, headings: Sequence[str], seed: int) -> None:
    """Write a file of supplementary records that refer to these descriptors."""
    words = Words(seed + 1)
    pick = words.random
    file.write(_head("SupplementalRecordSet", "supplementalrecordset"))
    for n in range(records):
        name, ui = words.name(), n + 1
        mapped = "".join(
            f"   <HeadingMappedTo>\n{_reference('Descriptor', f'*D{i + 1:06d}', f'*{headings[i]}', '    ')}"
            "   </HeadingMappedTo>\n"
            for i in dict.fromkeys(pick.randrange(len(headings)) for _ in range(pick.randint(1, 3)))
        )
        file.write(
            f'<SupplementalRecord SCRClass = "{pick.choices("123456", (80, 2, 8, 6, 2, 2))[0]}">\n'
            f"  <SupplementalRecordUI>C{ui:06d}</SupplementalRecordUI>\n"
            f"  <SupplementalRecordName>\n   <String>{escape(name)}</String>\n  </SupplementalRecordName>\n"
            f"{_date('DateCreated', pick)}{_date('DateRevised', pick)}  <Note>{words.prose(12)}\n  </Note>\n"
            f"  <Frequency>{pick.randint(1, 200)}</Frequency>\n"
            f"  <HeadingMappedToList>\n{mapped}  </HeadingMappedToList>\n"
            f"  <SourceList>\n   <Source>J Med {pick.randint(1, 60)}({pick.randint(1, 12)}):{ui}</Source>\n"
            f"  </SourceList>\n{_concepts(ui, name, words, int(pick.random() < 0.1), 1)} </SupplementalRecord>\n"
        )
    file.write("</SupplementalRecordSet>\n")


def qualifiers(file: TextIO, seed: int) -> None:
    """Write a qualifier file."""
    words = Words(seed + 2)
    pick = words.random
    file.write(_head("QualifierRecordSet", "qualifierrecordset"))
    for n, (ui, name, abbreviation) in enumerate(_qualifiers(seed)):
        concepts = _concepts(n + 1, name, words, 0).replace(
            "</String>\n      <DateCreated>",
            f"</String>\n      <Abbreviation>{abbreviation}</Abbreviation>\n      <DateCreated>",
            1,
        )
        file.write(
            f" <QualifierRecord>\n  <QualifierUI>{ui}</QualifierUI>\n  <QualifierName>\n"
            f"   <String>{escape(name)}</String>\n  </QualifierName>\n{_date('DateCreated', pick)}"
            f"  <TreeNumberList>\n   <TreeNumber>Y{n // 8 + 1:02d}{f'.{n % 8:03d}' if n % 8 else ''}</TreeNumber>\n"
            f"  </TreeNumberList>\n{concepts} </QualifierRecord>\n"
        )
    file.write("</QualifierRecordSet>\n")


def _qualifiers(seed: int) -> list[tuple[str, str, str]]:
    words = Words(seed + 3)
    letters = [a + b for a in "ABCDEFGHI" for b in "ABCDEFGHI"]
    return [(f"Q{8 + n * 7:06d}", words.name().lower(), letters[n]) for n in range(QUALIFIERS)]


def _head(root: str, dtd: str) -> str:
    address = f"https://www.nlm.nih.gov/databases/dtd/nlm{dtd}_20250101.dtd"
    return f'<?xml version="1.0"?>\n<!DOCTYPE {root} SYSTEM "{address}">\n<{root} LanguageCode = "eng">\n'


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make files of MeSH's shape and size.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=int, default=RECORDS, help="descriptors")
    parser.add_argument("--supplements", type=int, default=0, help=f"supplementary records (MeSH has {SUPPLEMENTS:,})")
    parser.add_argument("--seed", type=int, default=SEED)
    chosen = parser.parse_args(arguments)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    with (chosen.folder / "desc2025.xml").open("w", encoding="utf-8") as file:
        headings = descriptors(file, chosen.records, chosen.seed)
    if chosen.supplements:
        with (chosen.folder / "supp2025.xml").open("w", encoding="utf-8") as file:
            supplements(file, chosen.supplements, headings, chosen.seed)
        with (chosen.folder / "qual2025.xml").open("w", encoding="utf-8") as file:
            qualifiers(file, chosen.seed)
    for path in sorted(chosen.folder.glob("*2025.xml")):
        print(f"{path}: {path.stat().st_size / 1e6:,.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
