"""What is read from text and where it stands; what one given term is."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conftest import examples
from kgdx.case.patient import Finding, Status
from kgdx.terms.everyday import everyday_wordings, lay_wordings
from kgdx.terms.extractor import Extractor
from kgdx.terms.normalise import fold_chinese, wordings


def found(reader: Extractor, text: str) -> dict[str, Finding]:
    return {finding.id: finding for finding in reader.extract(text).findings}


def ids(reader: Extractor, text: str) -> set[str]:
    return set(found(reader, text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("seizures", "HP:0001250"),
        ("SEIZURES", "HP:0001250"),
        ("microcephalic", "HP:0000252"),
        ("café au lait spots", "HP:0000957"),
        ("cafe\u0301-au-lait spots", "HP:0000957"),
        ("stenosis of the pulmonary arteries", "HP:0004415"),
        ("stenosis of the\npulmonary artery", "HP:0004415"),
        ("severe intellectual disability", "HP:0010864"),
        ("intellectual disability, severe", "HP:0010864"),
        ("hypoplastic left thumb", "HP:0009778"),
        ("agenesis of the kidney", "HP:0000104"),
        ("kidney anomalies", "HP:0000077"),
        ("renal malformation", "HP:0012210"),
        ("involvement of the kidneys", "HP:0000077"),
        ("diarrhoea", "HP:0002014"),
    ],
)
def test_variants_of_a_name_are_read(reader: Extractor, text: str, expected: str) -> None:
    assert expected in ids(reader, f"He has {text}.")


@pytest.mark.parametrize(
    "text",
    [
        "a number of patients",  # the stem of numbness
        "an asd gene",  # the acronym is upper case
        "short nose and wide thumb",  # words of two phrases
        "kidney. Abnormality",  # words of two sentences
        "All patients were severe",  # terms that are no findings
        "pain, and the left eye",  # a conjunct that is a finding itself lends no word
        "anomalies of the renal arteries",  # the adjective belongs to the next noun
        "",
    ],
)
def test_other_words_are_not_read(reader: Extractor, text: str) -> None:
    assert not ids(reader, text) - {"HP:0012531"}


def test_coordinated_phrases_name_each_finding(reader: Extractor) -> None:
    text = "aplastic or hypoplastic nails, and renal and ear anomalies"
    assert {"HP:0001798", "HP:0001792", "HP:0000077", "HP:0000598"} <= ids(reader, text)
    assert {"HP:0000077", "HP:0000598"} <= ids(reader, "anomalies of the kidney and ear")


def test_coordination_gives_the_whole_phrase_as_span(reader: Extractor) -> None:
    assert found(reader, "aplastic or hypoplastic nails")["HP:0001798"].text == "aplastic or hypoplastic nails"


def test_longest_name_wins(reader: Extractor) -> None:
    (finding,) = reader.extract("a hypoplastic thumb").findings
    assert (finding.id, finding.matched) == ("HP:0009778", "Hypoplastic thumb")


def test_general_term_inside_a_specific_name_is_read_too(reader: Extractor) -> None:
    assert ids(reader, "brachydactyly type C") == {"HP:0009373", "HP:0001156"}


def test_denying_a_specific_finding_does_not_deny_the_general_one(reader: Extractor) -> None:
    assert ids(reader, "No severe intellectual disability.") == {"HP:0010864"}


def test_finding_said_to_be_absent_is_no_finding_of_absence(reader: Extractor) -> None:
    findings = found(reader, "Seizures were absent.")
    assert {curie: f.status for curie, f in findings.items()} == {"HP:0001250": Status.ABSENT}


def test_misspelt_word_is_read_as_fuzzy(reader: Extractor) -> None:
    finding = found(reader, "She has microcepahly.")["HP:0000252"]
    assert (finding.method, finding.text) == ("fuzzy", "microcepahly")
    assert finding.score < 0.9


def test_method_and_score_tell_how_close_the_words_are(reader: Extractor) -> None:
    exact, variant = found(reader, "Seizure.")["HP:0001250"], found(reader, "Seizures.")["HP:0001250"]
    assert (exact.method, variant.method) == ("exact", "variant")
    assert exact.score > variant.score


def test_abbreviation_that_the_text_introduces_is_read(reader: Extractor) -> None:
    findings = reader.extract("Global developmental delay (GDD) is common. GDD was severe.").findings
    assert [f.text for f in findings if f.id == "HP:0001263"] == ["Global developmental delay", "GDD", "GDD"]


def test_acronym_that_the_text_uses_otherwise_is_not_read(reader: Extractor) -> None:
    assert "HP:0001631" in ids(reader, "He has an ASD, and a heart murmur.")
    assert "HP:0001631" not in ids(reader, "Autism spectrum disorder (ASD) was found. ASD is frequent.")


def test_ids_in_text_are_read_with_their_status(reader: Extractor) -> None:
    extraction = reader.extract("HP:0000252, no HP_0001945, hp:0001275")
    assert [(f.id, f.status, f.method) for f in extraction.findings] == [
        ("HP:0000252", Status.PRESENT, "id"),
        ("HP:0001945", Status.ABSENT, "id"),
        ("HP:0001250", Status.ABSENT, "id"),
    ]
    assert [issue.where for issue in extraction.issues] == ["HP:0001275"]


def test_obsolete_and_unknown_ids_in_text_are_told(reader: Extractor) -> None:
    extraction = reader.extract("HP:0006824 HP:0006957 HP:9999999")
    assert [f.id for f in extraction.findings] == ["HP:0000252"]
    messages = [issue.message for issue in extraction.issues]
    assert "HP:0006824 (Floppy head) is obsolete" in messages
    assert any("no replacement" in message for message in messages)
    assert any(message.startswith("HP:9999999 is not in this graph") for message in messages)


def test_present_and_absent_is_an_issue(reader: Extractor) -> None:
    extraction = reader.extract("No seizures at birth. Later she had seizures.")
    assert ["present and absent" in issue.message for issue in extraction.issues] == [True]


def test_nothing_recognised_is_an_issue(reader: Extractor) -> None:
    assert "no finding" in reader.extract("Hello there").issues[0].message
    assert "empty" in reader.extract(" \n").issues[0].message


def test_long_text_is_read_whole(reader: Extractor) -> None:
    sentence = "He has seizures, no fever, and renal and ear anomalies; his mother has deafness. "
    text = sentence * (100_000 // len(sentence) + 1)
    findings = reader.extract(text).findings
    assert len({f.span for f in findings}) > 4000
    assert all(f.span and text[f.span.start : f.span.end] == f.text for f in findings)


NASTY = st.text(
    alphabet=st.one_of(
        st.characters(),
        st.sampled_from("\x00\u0301\u200d\ufe0f😀ﬁİß。，、无发热 \n.,;()-'\"{}$"),
    ),
    max_size=12,
)

PHRASE = st.sampled_from(
    ["seizures", "no", "renal", "anomalies", "and", "cafe\u0301-au-lait spot", "发热", "無發熱", "HP:0001250", "(GDD)"]
)


@examples(300)
@given(st.lists(st.one_of(NASTY, PHRASE), max_size=12).map(" ".join))
@example("İseizures İ")
@example("㐀 \ud800 seizures")
@example("ﬁ 発热ﬀ发热 \x00 seizures\x00")
def test_spans_index_any_text(reader: Extractor, text: str) -> None:
    for finding in reader.extract(text).findings:
        assert finding.span is not None
        assert text[finding.span.start : finding.span.end] == finding.text != ""


@pytest.mark.parametrize("text", ["MATCH (n) DETACH DELETE n; seizures", "seizures'; --", '"seizures"', "{seizures}"])
def test_quotes_and_query_fragments_are_plain_text(reader: Extractor, text: str) -> None:
    assert ids(reader, text) == {"HP:0001250"}


@pytest.mark.parametrize(
    "term", ["HP:0001250", "hp:0001250", "HP_0001250", " HP:1250 ", "Seizure", "epileptic seizures"]
)
def test_term_is_resolved_without_remark(reader: Extractor, term: str) -> None:
    resolution = reader.resolve(term)
    assert resolution.finding is not None
    assert (resolution.finding.id, resolution.finding.status) == ("HP:0001250", Status.PRESENT)
    assert resolution.finding.span is None
    assert not resolution.issues


@pytest.mark.parametrize(("term", "id"), [("癲癇發作", "HP:0001250"), ("severe bilateral hearing loss", "HP:0000365")])
def test_a_term_is_resolved(reader: Extractor, term: str, id: str) -> None:
    finding = reader.resolve(term).finding
    assert finding is not None
    assert finding.id == id


def test_replaced_ids_are_resolved_with_notice(reader: Extractor) -> None:
    alternative, obsolete = reader.resolve("HP:0001275"), reader.resolve("HP:0006824")
    assert alternative.finding is not None
    assert obsolete.finding is not None
    assert (alternative.finding.id, obsolete.finding.id) == ("HP:0001250", "HP:0000252")
    assert alternative.issues[0].remedy == "HP:0001250 is used"
    assert "HP:0000252 (Microcephaly) is used" in obsolete.issues[0].remedy


@pytest.mark.parametrize("id", ["HP:0006957", "HP:0000253"])
def test_an_id_that_is_none_names_what_to_consider(reader: Extractor, id: str) -> None:
    resolution = reader.resolve(id)
    assert resolution.finding is None
    assert "HP:0000252 (Microcephaly), HP:0000256 (Macrocephaly)" in resolution.issues[0].remedy


def test_id_of_no_finding_is_told(reader: Extractor) -> None:
    resolution = reader.resolve("HP:0012828")
    assert resolution.finding is not None
    assert "no phenotypic abnormality" in resolution.issues[0].message


def test_misspelt_phrase_is_resolved_with_notice(reader: Extractor) -> None:
    resolution = reader.resolve("Brachydactily")
    assert resolution.finding is not None
    assert (resolution.finding.id, resolution.finding.method) == ("HP:0001156", "fuzzy")
    assert "is read as Brachydactyly" in resolution.issues[0].message


@pytest.mark.parametrize("term", ["renal stones of agenesis", "hearing the loss of a pin", "xyzzy", "", "疼"])
def test_phrase_that_says_more_or_nothing_is_refused(reader: Extractor, term: str) -> None:
    resolution = reader.resolve(term)
    assert resolution.finding is None
    assert resolution.issues[0].level == "error"


def test_nearest_names_are_suggested(reader: Extractor) -> None:
    resolution = reader.resolve("renal artery agenesis")
    assert "HP:0000104" in [finding.id for finding in resolution.suggestions]
    assert "HP:0000104 Renal agenesis" in resolution.issues[0].remedy


def test_an_id_that_lost_or_gained_a_digit_is_not_guessed(reader: Extractor) -> None:
    for written in ("HP:000125", "HP:00012500"):
        resolution = reader.resolve(written)
        assert resolution.finding is None
        assert "HP:0001250" in [finding.id for finding in resolution.suggestions]
        assert f"{written} has {len(written) - 3} digits" in resolution.issues[0].message


def test_a_text_is_no_term(reader: Extractor) -> None:
    resolution = reader.resolve("seizure " * 10_000)
    assert resolution.finding is None
    assert "79,999 characters" in resolution.issues[0].message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("发热", "HP:0001945"),
        ("發熱", "HP:0001945"),
        ("发 热", "HP:0001945"),
        ("发烧", "HP:0001945"),
        ("肝脏肿大", "HP:0002240"),
        ("肝增大", "HP:0002240"),
        ("听力下降", "HP:0000365"),
        ("癲癇發作", "HP:0001250"),
    ],
)
def test_wordings_of_a_name_are_read(reader: Extractor, text: str, expected: str) -> None:
    (finding,) = reader.extract(f"患者{text}。").findings
    assert (finding.id, finding.text) == (expected, text)


def test_languages_may_be_mixed(reader: Extractor) -> None:
    findings = reader.extract("患者有seizures，否认发热。No microcephaly.").findings
    assert [(f.id, f.status) for f in findings] == [
        ("HP:0001250", Status.PRESENT),
        ("HP:0001945", Status.ABSENT),
        ("HP:0000252", Status.ABSENT),
    ]


def test_one_language_can_be_asked_for(reader: Extractor) -> None:
    text = "发热 and seizures"
    assert [f.id for f in reader.extract(text, language="zh").findings] == ["HP:0001945"]
    assert [f.id for f in reader.extract(text, language="en").findings] == ["HP:0001250"]


def test_graph_without_chinese_names_says_how_to_load_them(english_reader: Extractor) -> None:
    extraction = english_reader.extract("肾缺如，发烧")
    assert [f.id for f in extraction.findings] == ["HP:0001945"]  # everyday words need no translation
    assert ["kgdx update hp_zh" in issue.remedy for issue in extraction.issues] == [True]


def test_folding_keeps_places() -> None:
    folded = fold_chinese(" ㎏發 Ａ")
    assert folded.text == "kg发a"
    assert folded.places == [1, 1, 2, 4]


def test_wordings_leave_single_characters_out() -> None:
    assert wordings("心脏") == set()


def test_every_lay_wording_stands_for_a_current_finding(hpo_reader: Extractor) -> None:
    for phrase, curie in lay_wordings():
        finding, issues = hpo_reader.terms.current(curie)
        assert finding is not None, phrase
        assert not issues, phrase
        assert everyday_wordings("zh")[phrase].alone or hpo_reader.extract(phrase).findings, phrase
