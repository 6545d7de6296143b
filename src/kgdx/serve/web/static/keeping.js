// The patient kept: in this browser where somebody chooses so, or as a file that this page or other programs read.
import { $, chinese, json, make, number, save, say, tell } from "./shared.js";
import * as patient from "./patient.js";
import { diagnosis, place, titles } from "./ranking.js";

const STORE = "kgdx.patients";
const LEADERS = 10; // diseases of a FHIR bundle
const HPO = "http://purl.obolibrary.org/obo/hp.owl";
let saved = null; // the patient as it was saved last

/** Whether the patient is as it was saved. */
export const isSaved = () => saved === patient.patient();

function kept() {
  try {
    return JSON.parse(localStorage.getItem(STORE) ?? "[]").filter((each) => each?.kgdx === "workbench/1");
  } catch {
    return [];
  }
}
/** Whether this browser keeps patients. */
export const anyKept = () => kept().length > 0;

function store(patients) {
  try {
    if (patients.length) localStorage.setItem(STORE, JSON.stringify(patients));
    else localStorage.removeItem(STORE);
    return true;
  } catch {
    tell(say("keptFull"));
    return false;
  }
}

function portable() {
  const { title, text, about, edits, added } = patient.patient();
  return { kgdx: "workbench/1", title, text, about, edits, added };
}

/** A patient of the form that this page keeps; what is not of the form is left out. */
export function reopened(document_, longest) {
  const { title = "", text = "", about = {}, edits = {}, added = [] } = document_;
  const objects = [about, edits].every((each) => each && typeof each === "object");
  const terms = Array.isArray(added) && added.every((each) => typeof each?.id === "string" && typeof each?.status === "string");
  if (typeof title !== "string" || typeof text !== "string" || !objects || !terms) throw { detail: say("fileDamaged") };
  return { title, text: text.slice(0, longest), about, edits, added };
}

const called = (title) => (title || "patient").replace(/[^\p{L}\p{N}_-]+/gu, "-");

function keepHere() {
  const { title, text } = patient.patient();
  const leader = diagnosis()?.candidates[0];
  const name = title || text.slice(0, 60) || patient.findings().map((each) => each.name).join(", ").slice(0, 60);
  const one = { ...portable(), name, saved: new Date().toISOString(), leader: leader && titles(leader).name };
  if (store([one, ...kept().filter((each) => each.name !== name)])) saved = patient.patient();
}

function asFile() {
  save(JSON.stringify(portable(), null, 1), "application/json", `${called(patient.patient().title)}.json`);
  saved = patient.patient();
}

const AGE = () => diagnosis()?.case?.age || undefined;
const observed = () => patient.findings().filter((each) => each.status === "present" || each.status === "absent");

/** The findings as a GA4GH phenopacket, version 2. */
async function asPhenopacket() {
  const hp = (await json("sources")).sources.find((each) => each.id === "hp");
  const now = new Date().toISOString();
  const sex = patient.about("sex");
  const document_ = {
    id: called(patient.patient().title),
    subject: {
      id: "patient",
      ...(AGE() && { timeAtLastEncounter: { age: { iso8601duration: AGE() } } }),
      sex: ["FEMALE", "MALE"].includes(sex) ? sex : sex === "OTHER" ? "OTHER_SEX" : "UNKNOWN_SEX",
    },
    phenotypicFeatures: observed().map((each) => ({ type: { id: each.id, label: each.label || each.id }, ...(each.status === "absent" && { excluded: true }) })),
    metaData: {
      created: now, createdBy: "kgdx", phenopacketSchemaVersion: "2.0.0",
      resources: [{ id: "hp", name: "Human Phenotype Ontology", url: HPO, version: hp?.version ?? "unknown", namespacePrefix: "HP", iriPrefix: "http://purl.obolibrary.org/obo/HP_" }],
    },
  };
  save(JSON.stringify(document_, null, 1), "application/json", `${document_.id}.phenopacket.json`);
}

const SYSTEMS = { OMIM: "http://www.omim.org", ORPHA: "http://www.orpha.net", MONDO: "http://purl.obolibrary.org/obo/mondo.owl", HP: "http://human-phenotype-ontology.org" };

function coding(id, display) {
  const [prefix, code] = id.split(":", 2);
  const system = SYSTEMS[prefix];
  return { ...(system && { coding: [{ system, code: prefix === "OMIM" || prefix === "ORPHA" ? code : id, display }] }), text: display };
}

/** The findings and the leading diseases as a FHIR R4 bundle, without anything that identifies the patient. */
function asFhir() {
  const id = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("").replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "urn:uuid:$1-$2-4$3-8$4-$5");
  const who = id();
  const subject = { reference: who };
  const years = /^P(\d+)Y/.exec(AGE() ?? "")?.[1];
  const snomed = (code, display) => ({ coding: [{ system: "http://snomed.info/sct", code, display }] });
  const gender = { FEMALE: "female", MALE: "male", OTHER: "other" }[patient.about("sex")] ?? "unknown";
  const observation = (code, value) => ({ resourceType: "Observation", status: "final", code, subject, ...value });
  const findings = observed().map((each) => observation(coding(each.id, each.label || each.id), {
    valueCodeableConcept: each.status === "present" ? snomed("52101004", "Present") : snomed("2667000", "Absent"),
  }));
  const age = years ? [observation({ coding: [{ system: "http://loinc.org", code: "30525-0", display: "Age" }] }, { valueQuantity: { value: Number(years), unit: "years", system: "http://unitsofmeasure.org", code: "a" } })] : [];
  const conditions = (diagnosis()?.candidates ?? []).slice(0, LEADERS).map((each) => ({
    resourceType: "Condition", subject, code: coding(each.id, each.name || each.id),
    verificationStatus: { coding: [{ system: "http://terminology.hl7.org/CodeSystem/condition-ver-status", code: "differential" }] },
    note: [{ text: `kgdx: rank ${place(each)}, fit ${each.score.toFixed(1)}; decision support for research` }],
  }));
  const entry = [[who, { resourceType: "Patient", gender }], ...[...age, ...findings, ...conditions].map((each) => [id(), each])];
  const bundle = { resourceType: "Bundle", type: "collection", timestamp: new Date().toISOString(), entry: entry.map(([fullUrl, resource]) => ({ fullUrl, resource })) };
  save(JSON.stringify(bundle, null, 1), "application/fhir+json", `${called(patient.patient().title)}.fhir.json`);
}

function listed(document_, dialog, longest, draw) {
  const date = new Date(document_.saved).toLocaleString(chinese() ? "zh-CN" : "en", { dateStyle: "medium", timeStyle: "short" });
  const open = () => { dialog.close(); patient.begin(reopened(document_, longest)); saved = patient.patient(); };
  const without = () => { store(kept().filter((each) => each.name !== document_.name)); draw(); };
  return make("li", {},
    make("button", { type: "button", onclick: open }, document_.name),
    make("small", { class: "quiet" }, ` ${[date, document_.leader].filter(Boolean).join(" · ")} `),
    make("button", { type: "button", class: "small", "aria-label": say("deleteKept", { name: document_.name }), onclick: without }, "×"));
}

/** Show what can be saved and how, and what is kept here; with `choose`, a file can be opened as well. */
export function showKept(longest, choose) {
  const dialog = $("keep-dialog");
  const draw = () => {
    const button = (key, work, main) => make("button", { type: "button", class: main ? "main" : "", onclick: async () => {
      try {
        await work();
        if (work !== keepHere) dialog.close();
        else draw();
      } catch (problem) {
        dialog.close();
        tell(problem.detail ?? String(problem), problem.hint);
      }
    } }, say(key));
    const close = make("button", { type: "button", class: "quiet-button", "aria-label": say("close"), onclick: () => dialog.close() }, "×");
    const forms = patient.isEmpty() || choose ? [] : [
      make("p", { class: "choices" }, button("asFile", asFile), button("asPhenopacket", asPhenopacket), button("asFhir", asFhir), button("keepHere", keepHere, true)),
      make("p", { class: "quiet" }, say(isSaved() ? "isKept" : "keepHereHelp"))];
    const patients = kept();
    const rows = patients.map((each) => listed(each, dialog, longest, draw));
    const all = patients.length > 1 ? make("button", { type: "button", onclick: () => { store([]); draw(); } }, say("deleteAll", { n: number(patients.length) })) : "";
    dialog.replaceChildren(close, make("h2", { id: "keep-title" }, say(choose ? "openTitle" : "keepTitle")), ...forms,
      choose ? make("p", { class: "choices" }, button("openFile", choose, true)) : "",
      make("h3", {}, say("keptTitle")), rows.length ? make("ul", { class: "kept" }, rows) : make("p", { class: "quiet" }, say("nothingKept")), all);
  };
  draw();
  if (!dialog.open) dialog.showModal();
}
