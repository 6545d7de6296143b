from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import require_module

require_module("fastapi", "serve")
require_module("playwright", "browser-test")

from playwright.sync_api import expect  # noqa: E402

from kgdx.case import case_from_document  # noqa: E402

from .conftest import violations  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = [pytest.mark.chromium, pytest.mark.heavy]


def write(page: Page, text: str) -> None:
    """Begin a patient with a note, and look at it."""
    page.get_by_role("button", name="New patient").click()
    page.fill("#text", text)
    page.locator("#edit").click()
    expect(page.locator("#note")).to_be_visible()


def chip(page: Page, name: str) -> Locator:
    return page.locator(".chip", has_text=name)


def names(page: Page, most: int = 15) -> list[str]:
    return [each.split("\n")[-1] for each in page.locator("#ranking .what").all_inner_texts()][:most]


def drop(page: Page, name: str, content: str | bytes, kind: str = "") -> None:
    """Drop a file onto the page."""
    given = content.encode() if isinstance(content, str) else content
    page.evaluate(
        """([name, bytes, type]) => {
            const items = new DataTransfer();
            items.items.add(new File([new Uint8Array(bytes)], name, { type }));
            const options = { dataTransfer: items, bubbles: true, cancelable: true };
            for (const kind of ["dragenter", "dragover", "drop"])
                document.body.dispatchEvent(new DragEvent(kind, options));
        }""",
        [name, list(given), kind],
    )


def test_findings_are_marked_in_the_note_each_kind_in_its_own_way(page: Page, screenshots: Path) -> None:
    write(page, "She has seizures. No hearing loss. Her mother has migraine. Blorbs a lot when glimmed.")
    for kind, words in (
        ("present", "seizures"),
        ("absent", "hearing loss"),
        ("family", "migraine"),
        ("unread", "Blorbs"),
    ):
        expect(page.locator(f"#note .mark-{kind}").first).to_contain_text(words)
    looks = page.evaluate(
        """() => [...document.querySelectorAll("#note [role=button]")].map((mark) => {
            const look = getComputedStyle(mark);
            return [look.borderBottomStyle, look.textDecorationStyle].join();
        })"""
    )
    assert len(set(looks)) == 4, "the kinds have to be told apart without colour"
    page.screenshot(path=screenshots / "bench-note.png")
    assert violations(page) == []


def test_a_flipped_finding_changes_mark_chip_and_ranking(page: Page, screenshots: Path) -> None:
    page.screenshot(path=screenshots / "bench-before.png")
    before = page.locator("#ranking .score").all_inner_texts()
    chip(page, "Conjunctival telangiectasia").locator(".flip").click()
    expect(page.locator("#note .mark-absent", has_text="Telangiectasia")).to_be_visible()
    expect(chip(page, "Conjunctival telangiectasia")).to_contain_text("absent")
    expect(page.locator("#ranking .move.up").first).to_be_visible()
    assert page.locator("#ranking .score").all_inner_texts() != before
    assert page.evaluate("document.activeElement.dataset.act") == "flip"
    page.screenshot(path=screenshots / "bench-after.png")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#note .mark-present", has_text="Telangiectasia")).to_be_visible()


def test_a_removed_finding_is_gone_until_undone(page: Page) -> None:
    page.get_by_role("button", name="Remove Oculomotor apraxia").click()
    expect(chip(page, "Oculomotor apraxia")).to_have_count(0)
    expect(page.locator("#note [role=button]", has_text="oculomotor")).to_have_count(0)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Undo").click()
    expect(chip(page, "Oculomotor apraxia")).to_have_count(1)


def test_an_uncertain_finding_is_confirmed(page: Page) -> None:
    write(page, "She has ataxia. Possible seizures.")
    seizure = chip(page, "Seizure")
    expect(seizure).to_contain_text("uncertain")
    seizure.get_by_role("button", name="Seizure is uncertain: confirm it").click()
    expect(page.locator("#note .mark-present", has_text="seizures")).to_be_visible()
    expect(seizure.locator(".confirm")).to_have_attribute("aria-pressed", "true")


def test_a_finding_is_added_by_name_in_either_language(page: Page) -> None:
    term = page.get_by_role("combobox", name="Add a finding")
    for typed, name in (("strabis", "Strabismus"), ("癫痫发作", "Seizure")):
        term.fill(typed)
        expect(page.get_by_role("option").first).to_be_visible()
        assert violations(page) == []
        term.press("Enter")
        expect(chip(page, name)).to_be_visible()
    expect(page.locator("#state")).to_contain_text("graph of")
    term.fill("qqqqxx")
    expect(page.locator("#term-status")).to_have_text("no name fits")


def test_what_was_not_read_is_mended_by_picking_a_term(page: Page) -> None:
    write(page, "She has ataxia. Keeps glimming her frob.")
    page.locator("#note .mark-unread").click()
    pick = page.get_by_role("combobox", name="Pick a term")
    expect(pick).to_be_focused()
    assert violations(page) == []
    pick.fill("strabismus")
    expect(page.get_by_role("option").first).to_be_visible()
    pick.press("Enter")
    expect(page.locator("#note .mark-present", has_text="glimming")).to_be_visible()
    expect(chip(page, "Strabismus")).to_be_visible()
    expect(page.locator("#note .mark-unread")).to_have_count(0)
    page.locator("#edit").click()
    page.fill("#text", "He is 4. She has ataxia. Keeps glimming her frob. Ptosis.")
    expect(chip(page, "Ptosis")).to_be_visible()
    expect(chip(page, "Strabismus")).to_be_visible()


def test_another_term_takes_the_place_of_one_that_was_read_wrongly(page: Page) -> None:
    page.locator("#note .mark-present", has_text="progressive ataxia").click()
    page.get_by_role("combobox", name="Another term").fill("gait ataxia")
    expect(page.get_by_role("option").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(chip(page, "Gait ataxia")).to_be_visible()
    expect(chip(page, "Progressive cerebellar ataxia")).to_have_count(0)
    expect(page.locator("#note .mark-present", has_text="progressive ataxia")).to_be_visible()


def test_age_sex_onset_family_and_genes_are_read_and_can_be_changed(page: Page) -> None:
    expect(page.get_by_role("textbox", name="Age")).to_have_value("12")
    expect(page.get_by_role("combobox", name="Sex")).to_have_value("MALE")
    page.select_option("#consanguineous", "true")
    page.select_option("#onset", "HP:0003593")
    page.fill("#genes", "ATM, FBN1")
    page.keyboard.press("Tab")
    page.locator("button.row").first.click()
    expect(page.locator(".why")).to_contain_text("its gene ATM is among 2 candidate genes")
    page.fill("#genes", "FBNX1")
    page.keyboard.press("Tab")
    expect(page.locator("#refused")).to_contain_text("FBNX1")


def test_an_emoji_and_arabic_shift_no_mark(page: Page) -> None:
    write(page, "🙂🙂 مريض لديه: seizures 👩‍⚕️ and no hearing loss")
    expect(page.locator("#note .mark-present")).to_have_text("seizures")
    expect(page.locator("#note .mark-absent")).to_have_text("hearing loss")
    chip(page, "Seizure").locator(".flip").click()
    expect(page.locator("#note .mark-absent")).to_have_count(2)


def test_a_note_and_a_phenopacket_are_dropped(page: Page) -> None:
    drop(page, "ward-note.txt", "Ptosis and\r\nseizures, no ataxia.")
    expect(page.locator("#title")).to_have_value("ward-note")
    expect(page.locator("#note .mark-present", has_text="seizures")).to_be_visible()
    packet = {
        "id": "packet-7",
        "subject": {"id": "p", "sex": "FEMALE", "timeAtLastEncounter": {"age": {"iso8601duration": "P7Y"}}},
        "phenotypicFeatures": [
            {"type": {"id": "HP:0001250", "label": "Seizure"}},
            {"type": {"id": "HP:0000365"}, "excluded": True},
        ],
    }
    drop(page, "packet.json", json.dumps(packet))
    expect(page.locator("#title")).to_have_value("packet-7")
    expect(chip(page, "Seizure")).to_be_visible()
    expect(chip(page, "Hearing impairment")).to_contain_text("absent")
    expect(page.get_by_role("combobox", name="Sex")).to_have_value("FEMALE")
    expect(page.get_by_role("textbox", name="Age")).to_have_value("7")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("scan.pdf", b"%PDF-1.4\x00\x01\x02", "is no text"),
        ("empty.txt", b"  \n", "is empty"),
        ("page.html", b"<!doctype html><p>x", "web page"),
        ("broken.json", b'{"id": ', "cannot be read"),
        ("two.json", b'[{"text": "fits"}, {"text": "ataxia"}]', "holds 2 patients"),
        ("other.json", b'{"colour": "red", "wheels": 4}', "form of the case is unknown"),
    ],
)
def test_a_wrong_file_is_told_and_the_patient_stays(page: Page, name: str, content: bytes, said: str) -> None:
    drop(page, name, content)
    expect(page.get_by_role("alert")).to_contain_text(said)
    expect(chip(page, "Oculomotor apraxia")).to_be_visible()


def test_a_chinese_note_in_its_old_encoding_is_read(page: Page) -> None:
    drop(page, "病历.txt", "患者反复抽搐，共济失调。".encode("gb18030"))
    expect(page.locator("#note .mark-present", has_text="抽搐")).to_be_visible()


def saved(page: Page, form: str, file: Path) -> Path:
    page.get_by_role("button", name="Save…", exact=True).click()
    with page.expect_download() as waiting:
        page.get_by_role("dialog").get_by_role("button", name=form).click()
    waiting.value.save_as(file)
    expect(page.get_by_role("dialog")).to_be_hidden()
    return file


def test_a_patient_is_kept_as_a_file_and_opened_again(page: Page, tmp_path: Path) -> None:
    chip(page, "Oculomotor apraxia").locator(".flip").click()
    page.fill("#title", "Kept")
    file = saved(page, "File of this page", tmp_path / "kept.json")
    page.get_by_role("button", name="New patient").click()
    page.set_input_files("#file", file)
    expect(page.locator("#title")).to_have_value("Kept")
    expect(chip(page, "Oculomotor apraxia")).to_contain_text("absent")


def test_nothing_stays_in_the_browser_but_what_is_kept_there(page: Page) -> None:
    expect(page.locator("#ranking li").first).to_be_visible()
    assert page.evaluate("localStorage.length") == 0
    page.fill("#title", "Monday")
    page.get_by_role("button", name="Save…", exact=True).click()
    page.get_by_role("button", name="Keep in this browser").click()
    expect(page.get_by_role("dialog")).to_contain_text("saved as it stands")
    assert violations(page) == []
    page.reload()
    expect(page.locator("#ranking li").first).to_be_visible()
    page.get_by_role("button", name="Open…").click()
    page.get_by_role("button", name="Monday", exact=True).click()
    expect(page.locator("#title")).to_have_value("Monday")
    page.get_by_role("button", name="Open…").click()
    page.get_by_role("button", name="Delete Monday").click()
    assert page.evaluate("localStorage.length") == 0


def test_a_patient_is_saved_in_the_forms_of_others(page: Page, tmp_path: Path) -> None:
    write(page, "A 12-year-old boy with ataxia and seizures, no hearing loss.")
    expect(page.locator("#ranking li").first).to_be_visible()
    packet = json.loads(saved(page, "GA4GH phenopacket", tmp_path / "packet.json").read_text("utf-8"))
    read = case_from_document(packet)
    assert (read.sex, read.age) == ("MALE", "P12Y") and len(read.observed) == 2 and len(read.excluded) == 1
    bundle = json.loads(saved(page, "FHIR bundle", tmp_path / "bundle.json").read_text("utf-8"))
    kinds = [each["resource"]["resourceType"] for each in bundle["entry"]]
    assert kinds.count("Patient") == 1 and kinds.count("Observation") == 4 and "Condition" in kinds
    assert "boy" not in json.dumps(bundle)


def test_genes_of_a_vcf_become_candidates(page: Page) -> None:
    write(page, "ataxia and telangiectasia")
    record = "11\t1\t.\tA\tG\t.\t{}\tANN=G|stop_gained|HIGH|{}|x\n"
    drop(page, "exome.vcf", "##fileformat=VCFv4.2\n" + record.format("PASS", "ATM") + record.format("q10", "TTN"))
    expect(page.get_by_label("Genes with candidate variants")).to_have_value("ATM")
    drop(page, "bare.vcf", "##fileformat=VCFv4.2\n11\t1\t.\tA\tG\t.\tPASS\t.\n")
    expect(page.get_by_role("alert")).to_contain_text("names no gene")


def test_marks_stay_while_one_types(page: Page) -> None:
    write(page, "He has seizures and ataxia.")
    page.locator("#edit").click()
    expect(page.locator("#typed .mark-present")).to_have_text(["seizures", "ataxia"])
    page.locator("#text").press("Control+Home")
    page.route(
        "**/extract", lambda route: route.abort()
    )  # as long as nothing is read, what was read stays in its place
    page.keyboard.type("Today: ")
    expect(page.locator("#typed .mark-present")).to_have_text(["seizures", "ataxia"])


def test_the_setting_is_chosen_and_told(page: Page) -> None:
    expect(page.locator("#judged")).to_contain_text("Setting: general practice")
    page.get_by_label("Seen in").select_option("referral clinic")
    expect(page.locator("#judged")).to_contain_text("Setting: referral clinic, as stated")


def test_two_patients_in_one_note_are_told(page: Page) -> None:
    write(page, "Patient 1: a 12-year-old boy with ataxia. Patient 2: a 40-year-old woman with ptosis.")
    expect(page.locator("#doubts")).to_contain_text("more than one age")
    expect(page.get_by_role("textbox", name="Age")).to_have_value("")


def test_a_note_of_100_000_characters_is_read(page: Page) -> None:
    write(page, "Progressive ataxia with seizures; keeps glimming. No hearing loss. " * 1500)
    expect(page.locator("#note .mark-present").first).to_be_visible(timeout=20_000)
    expect(page.locator("#ranking li").first).to_be_visible(timeout=20_000)
    assert page.locator("#note .mark-present").count() > 1000


def test_the_print_shows_the_marked_note_and_the_ranking_without_buttons(page: Page, screenshots: Path) -> None:
    page.emulate_media(media="print")
    expect(page.locator("#note .mark-absent")).to_be_visible()
    expect(page.locator("#ranking li").first).to_be_visible()
    for hidden in ("#edit", "#term", "#next", "#question", ".pick", "#leader", "#fresh"):
        expect(page.locator(hidden).first).to_be_hidden()
    page.screenshot(path=screenshots / "bench-print.png", full_page=True)
