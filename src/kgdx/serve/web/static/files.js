// Files: notes and phenopackets that are opened or dropped, and the patient as a file to keep.
import { $, json, say, save, tell } from "./shared.js";
import * as patient from "./patient.js";

const LARGEST = 2_000_000; // bytes
const LONGEST = 200_000; // characters

/** Open a file: JSON is a case, everything else that is text is a note. */
async function open(file) {
  tell();
  if (file.size > LARGEST) return tell(say("fileLarge", { name: file.name }), say("fileHint"));
  const text = decoded(new Uint8Array(await file.arrayBuffer()))?.replace(/\r\n?/g, "\n");
  if (text === undefined) return tell(say("fileNoText", { name: file.name }), say("fileHint"));
  if (!text.trim()) return tell(say("fileEmpty", { name: file.name }), say("fileHint"));
  if (/^\s*[{[]/.test(text)) return openCase(file, text);
  if (/^\s*<(!doctype|html|\?xml)/i.test(text)) return tell(say("fileMarkup", { name: file.name }), say("fileHint"));
  openNote(text, file.name);
}

function openNote(text, name) {
  if (text.length > LONGEST) tell(say("noteLong", { n: text.length.toLocaleString(), most: LONGEST.toLocaleString() }));
  patient.begin({ text: text.slice(0, LONGEST), title: name.replace(/\.\w+$/, "") });
}

/** Text of bytes: UTF-8, UTF-16 with its mark, or GB 18030, as Chinese notes are kept; nothing for what is no text. */
function decoded(bytes) {
  const marks = { "255,254": "utf-16le", "254,255": "utf-16be" };
  const mark = marks[bytes.slice(0, 2).join()];
  if (!mark && bytes.includes(0)) return undefined;
  for (const form of mark ? [mark] : ["utf-8", "gb18030"]) {
    try {
      const text = new TextDecoder(form, { fatal: true }).decode(bytes);
      if (!/[\u0001-\u0008\u000e-\u001a]/.test(text)) return text;
    } catch { /* the next one */ }
  }
  return undefined;
}

async function openCase(file, text) {
  let documents;
  try {
    documents = [JSON.parse(text)].flat();
  } catch {
    try {
      documents = text.trim().split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));
    } catch {
      return tell(say("fileJson", { name: file.name }), say("fileHint"));
    }
  }
  if (documents.length !== 1) return tell(say("fileSeveral", { name: file.name, n: documents.length }), say("fileSeveralHint"));
  const [document_] = documents;
  try {
    if (document_?.kgdx === "workbench/1") return patient.begin(kept(document_));
    const found = await json("extract", { document: document_ });
    patient.begin({ ...given(found), title: found.case.id.startsWith("case:") ? file.name.replace(/\.\w+$/, "") : found.case.id });
    tell(...found.issues.filter((issue) => issue.level === "error").map((issue) => issue.message));
  } catch (problem) {
    tell(say("fileRefused", { name: file.name, why: problem.detail ?? "" }), problem.hint);
  }
}

/** A case that was read from a file, as a patient: its text is read again, its terms are given. */
function given({ case: found, text }) {
  const terms = found.findings.filter((each) => !each.span);
  const said = { sex: found.sex === "UNKNOWN" ? undefined : found.sex, age: found.age ?? undefined, onset: found.onset ?? undefined,
    inheritance: found.family.inheritance[0], consanguineous: found.family.consanguineous === null ? undefined : String(found.family.consanguineous),
    genes: found.genes.length ? found.genes.join(", ") : undefined };
  return {
    text,
    about: Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)),
    added: terms.map((each) => ({ id: each.id, name: each.label || each.id, label: each.label, status: each.status, words: "" })),
  };
}

/** The patient as it was kept; what is not of the form is left out. */
function kept(document_) {
  const { title = "", text = "", about = {}, edits = {}, added = [] } = document_;
  const objects = [about, edits].every((each) => each && typeof each === "object");
  const terms = Array.isArray(added) && added.every((each) => typeof each?.id === "string" && typeof each?.status === "string");
  if (typeof title !== "string" || typeof text !== "string" || !objects || !terms) throw { detail: say("fileDamaged") };
  return { title, text: text.slice(0, LONGEST), about, edits, added };
}

/** Give the patient as a file, which can be opened here again. */
function keep() {
  const { title, text, about, edits, added } = patient.patient();
  const content = JSON.stringify({ kgdx: "workbench/1", title, text, about, edits, added }, null, 1);
  save(content, "application/json", `${(title || "patient").replace(/[^\p{L}\p{N}_-]+/gu, "-")}.json`);
}

export function openFiles() {
  let inside = 0;
  const files = (event) => [...(event.dataTransfer?.items ?? [])].some((item) => item.kind === "file");
  $("open").addEventListener("click", () => $("file").click());
  $("keep").addEventListener("click", keep);
  $("file").addEventListener("change", () => {
    if ($("file").files[0]) open($("file").files[0]);
    $("file").value = "";
  });
  document.addEventListener("dragenter", (event) => { if (files(event)) { inside += 1; $("drop").hidden = false; } });
  document.addEventListener("dragleave", () => { inside = Math.max(0, inside - 1); if (!inside) $("drop").hidden = true; });
  document.addEventListener("dragover", (event) => { if (files(event)) event.preventDefault(); });
  document.addEventListener("drop", (event) => {
    inside = 0;
    $("drop").hidden = true;
    const [first, ...others] = event.dataTransfer?.files ?? [];
    if (!first) return;
    event.preventDefault();
    if (others.length) tell(say("oneFile", { n: others.length + 1 }));
    else open(first);
  });
}
