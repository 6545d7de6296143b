// Files that are opened or dropped: notes, phenopackets, patients that this page saved, and variants.
import { $, json, say, tell } from "./shared.js";
import * as patient from "./patient.js";
import { anyKept, reopened, showKept } from "./keeping.js";

const LARGEST = 2_000_000; // bytes
const LARGEST_VCF = 200_000_000;
const MOST_GENES = 1000;
const LONGEST = 200_000; // characters

/** Open a file: JSON is a case, everything else that is text is a note. */
async function open(file) {
  tell();
  if (/\.vcf(\.b?gz)?$/i.test(file.name)) return openVariants(file);
  if (file.size > LARGEST) return tell(say("fileLarge", { name: file.name, most: "2 MB" }), say("fileHint"));
  const text = decoded(new Uint8Array(await file.arrayBuffer()))?.replace(/\r\n?/g, "\n");
  if (text === undefined) return tell(say("fileNoText", { name: file.name }), say("fileHint"));
  if (!text.trim()) return tell(say("fileEmpty", { name: file.name }), say("fileHint"));
  if (/^\s*[{[]/.test(text)) return openCase(file, text);
  if (/^\s*<(!doctype|html|\?xml)/i.test(text)) return tell(say("fileMarkup", { name: file.name }), say("fileHint"));
  openNote(text, file.name);
}

/** Take the genes that a VCF names: annotated by VEP, SnpEff or ClinVar, in records that passed their filters. */
async function openVariants(file) {
  if (file.size > LARGEST_VCF) return tell(say("fileLarge", { name: file.name, most: "200 MB" }), say("fileHint"));
  const genes = new Set();
  let symbol = -1;
  const read = (line) => {
    const form = line.startsWith("##") && /ID=(?:CSQ|vep).*Format: ([^">]+)/.exec(line);
    if (form) symbol = form[1].split("|").indexOf("SYMBOL");
    if (line.startsWith("#")) return;
    const [, , , , , , filter, info = ""] = line.split("\t", 8);
    if (filter !== "PASS" && filter !== ".") return;
    for (const [, key, value] of info.matchAll(/(?:^|;)(ANN|CSQ|vep|GENEINFO)=([^;\t]*)/g)) {
      for (const each of value.split(key === "GENEINFO" ? "|" : ",")) {
        const gene = key === "GENEINFO" ? each.split(":")[0] : each.split("|")[key === "ANN" ? 3 : symbol];
        if (/^[\w.-]+$/.test(gene ?? "")) genes.add(gene);
      }
    }
  };
  try {
    const packed = /gz$/i.test(file.name) ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
    const reader = packed.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split("\n");
      rest = lines.pop();
      lines.forEach(read);
    }
    read(rest);
  } catch {
    return tell(say("fileNoText", { name: file.name }), say("fileHint"));
  }
  if (!genes.size) return tell(say("vcfNoGenes", { name: file.name }), say("vcfHint"));
  if (genes.size > MOST_GENES) return tell(say("vcfMany", { name: file.name, n: genes.size, most: MOST_GENES }), say("vcfManyHint"));
  patient.setAbout("genes", [...genes].join(", "));
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
    if (document_?.kgdx === "workbench/1") return patient.begin(reopened(document_, LONGEST));
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

export function openFiles() {
  let inside = 0;
  const files = (event) => [...(event.dataTransfer?.items ?? [])].some((item) => item.kind === "file");
  const choose = () => $("file").click();
  $("open").addEventListener("click", () => (anyKept() ? showKept(LONGEST, choose) : choose()));
  $("keep").addEventListener("click", () => showKept(LONGEST));
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
