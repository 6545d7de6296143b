// The workbench: a change to the patient is read, ranked and shown; what is late is thrown away, what fails is said.
import { $, chinese, json, learn, make, onLanguage, save, say, speak, tell, translate, useToken } from "./shared.js";
import * as patient from "./patient.js";
import { closeMend, drawNote, editNote, openNote } from "./note.js";
import { drawAbout, drawFindings, openChips } from "./chips.js";
import * as ranking from "./ranking.js";
import { drawCompare, drawNext, forget, forgetPassed, propose } from "./separate.js";
import { openFiles } from "./files.js";
import { isSaved } from "./keeping.js";
import { openAsk } from "./ask.js";
import { openDialogs } from "./dialogs.js";
import { told } from "./messages.js";

const REST = 70; // ms without a key before a text is read
const AGAIN = 2000; // ms before a server that is away is asked again
const FIRST = 15; // diseases that are shown at first
let top = FIRST;
let graph = null; // when what is served was built, null while it is not there
let model = ""; // the language model that the server asks, if any
let timer = 0;
let working = new AbortController();
let unread = true; // whether the text has changed since it was read
let speaking = 0;

function drawPatient() {
  drawNote();
  drawFindings();
  drawAbout();
  const shown = new Set(["reader", ...patient.findings().filter((each) => each.doubt).map((each) => each.id)]); // in their own place
  drawIssues($("doubts"), patient.patient().text ? (patient.reading()?.issues ?? []).filter((each) => !shown.has(each.where)) : []);
  $("read-box").hidden = !model || !patient.patient().text.trim();
  $("undo").disabled = !patient.canUndo();
  $("example-note").hidden = !patient.patient().example;
  document.title = [patient.patient().title, "kgdx"].filter(Boolean).join(" · ");
}

/** Follow a change: read the text where it is new, rank, and show both; whatever was under way is stopped. */
async function follow() {
  working.abort();
  working = new AbortController();
  const { signal } = working;
  $("ranked").classList.add("stale");
  $("reranking").textContent = "";
  try {
    if (unread) await read(signal);
    if (patient.isEmpty()) return nothing("");
    const found = await json("diagnose", { ...patient.request(), top, explain: 0 }, signal);
    if (!found.candidates.length) return nothing(found.judgement?.text, found.judgement?.helps?.map(told).join(" · "));
    $("refused").hidden = true;
    ranking.show(found);
    askAbout(found);
    $("ranked").classList.remove("stale");
    $("more-box").hidden = false;
    $("rerank-box").hidden = !model;
    $("more").hidden = top >= 60;
    recovered();
    after(found, signal);
  } catch (problem) {
    if (problem.name !== "AbortError") failed(problem);
  }
}

/** Let the question follow the patient: it is about them, and its example about what leads. */
function askAbout({ candidates: [leader] }) {
  if (patient.patient().example) return;
  $("with-patient").checked ||= !$("question").value;
  $("question").placeholder = say("questionHint", { name: ranking.titles(leader).name });
}

/** Have the language model order the best, or think and name some; any change of the patient shows the ranking's own. */
async function byModel(how) {
  working.abort();
  working = new AbortController();
  const { signal } = working;
  $("ranked").classList.add("stale");
  $("reranking").textContent = say("reranking");
  try {
    const found = await json("diagnose", { ...patient.request(), top, explain: 0, [how]: true }, signal);
    ranking.show(found);
    const told = found.reranking;
    const named = how === "thought" ? found.candidates.filter((each) => each.retrieved_rank).length : 0;
    const ordered = told && (told.failed ?? 0) < told.asked;
    $("reranking").textContent = named ? say("named", { n: named }) : ordered ? say("reranked", { model: told.model, n: told.moved ?? 0 }) : say("orderStands");
    after(found, signal);
  } catch (problem) {
    if (problem.name === "AbortError") return;
    $("reranking").textContent = say("orderStands");
    failed(problem);
  }
  $("ranked").classList.remove("stale");
}

async function read(signal) {
  const { text } = patient.patient();
  if (text.trim()) {
    const found = await json("extract", { text }, signal);
    signal.throwIfAborted();
    patient.setRead(found);
  } else patient.setRead({ text: "", findings: [], unread: [], issues: [], case: { findings: [], family: { inheritance: [], consanguineous: null }, genes: [] } });
  unread = false;
  drawPatient();
  nameFindings();
}

let second = new AbortController(); // the model's reading, which nothing else waits for

/** Have the language model read the text after the rules; where it fails, or the text changes before, theirs stays. */
async function readAgain() {
  second.abort();
  second = new AbortController();
  const { signal } = second;
  $("read-told").textContent = say("reranking");
  try {
    const found = await json("extract", { text: patient.patient().text, reader: true, heed_doubts: $("heed").checked }, signal);
    signal.throwIfAborted();
    const failed = found.issues.find((each) => each.where === "reader" && each.level !== "info");
    patient.setRead(found);
    unread = false;
    const count = (which) => patient.findings().filter((each) => each[which]).length;
    $("read-told").textContent = failed ? say("readFailed") : say("readTold", { added: count("byModel"), doubted: count("doubted") });
    $("read-told").title = failed?.message ?? "";
    drawPatient();
    nameFindings();
    follow();
  } catch (problem) {
    if (problem.name === "AbortError") return;
    $("read-told").textContent = say("readFailed");
    $("read-told").title = [problem.detail, problem.hint].filter(Boolean).join(" — ");
  }
}

/** Show findings in Chinese where the page is. */
async function nameFindings() {
  if ((await learn(patient.findings().map((each) => each.id))) && chinese()) drawPatient();
}

/** What may come after the ranking is seen. */
function after(found, signal) {
  clearTimeout(speaking);
  speaking = setTimeout(ranking.tellLeaders, 400); // once, after the last of several changes
  drawIssues($("cautions"), found.issues);
  ranking.learnShown();
  propose(signal);
  drawCompare();
}

/** List what is doubtful: of the note below it, of the ranking below that. */
function drawIssues(list, issues = []) {
  const lines = new Map(issues.filter((issue) => issue.level !== "info").map((issue) => [issue.message, issue]));
  list.hidden = !lines.size;
  list.replaceChildren(...[...lines.values()].map((issue) =>
    make("li", {}, told(issue.message), issue.remedy ? make("small", {}, ` ${told(issue.remedy)}`) : "")));
}

/** Show that there is nothing to rank, and why. */
function nothing(why, hint = "") {
  ranking.show(null);
  forget();
  drawCompare();
  ranking.tellLeaders();
  $("ranked").classList.remove("stale");
  $("more-box").hidden = true;
  $("rerank-box").hidden = true;
  drawIssues($("cautions"), []);
  $("refused").hidden = false;
  $("refused").textContent = [told(why) || say("nothingYet"), told(hint)].filter(Boolean).join(" — ");
}

let away = false;
function failed(problem) {
  if (!problem.away) {
    recovered();
    if (!patient.findings().some((each) => each.status === "present")) return nothing(problem.detail, problem.hint);
    $("refused").hidden = false; // the last ranking stays, until what was said can be used
    $("refused").textContent = [/age/.test(problem.detail) ? say("ageRefused") : told(problem.detail), told(problem.hint)].filter(Boolean).join(" — ");
    return;
  }
  away = true;
  tell(problem.detail, say("workKept"));
  const { signal } = working;
  setTimeout(() => signal.aborted || follow(), AGAIN);
}
function recovered() {
  if (away) tell();
  away = false;
}

function changed(what) {
  if (what === "title") drawPatient();
  if (what === "title" || what === "read") return;
  if (what === "text") {
    unread = true;
    working.abort(); // what is under way reads the text that was
    second.abort();
    $("read-told").textContent = "";
    speak(language(), false);
  }
  if (what === "text" && document.activeElement !== $("text")) editNote(false);
  drawPatient();
  if (what === "findings") nameFindings();
  clearTimeout(timer);
  timer = setTimeout(follow, what === "text" && document.activeElement === $("text") ? REST : 0);
}

/** The language of the patient's text where it is Chinese, else the browser's. */
function language() {
  return /\p{Script=Han}/u.test(patient.patient().text) || navigator.language.startsWith("zh") ? "zh" : "en";
}

async function about() {
  try {
    const found = await json("about");
    graph = found.created;
    model = found.model ?? "";
    $("answering-box").hidden = !found.model;
    $("no-model").hidden = !!found.model;
    $("token-form").hidden = true;
    translate({ model: found.model ?? "" });
    if (!graph) return setTimeout(about, 500); // the workers are starting
    tell();
    if (!patient.canUndo() && patient.isEmpty()) example();
    else follow();
  } catch (problem) {
    graph = null;
    if (problem.status !== 401) {
      tell(problem.detail, problem.hint);
      setTimeout(about, AGAIN);
    }
  }
}

function example() {
  patient.begin({ text: say("exampleText"), title: say("exampleTitle"), example: true });
  if (!$("question").value) $("question").value = say("exampleQuestion");
}

function fresh() {
  top = FIRST;
  forgetPassed();
  ranking.stopComparing();
  if (patient.patient().example) $("question").value = "";
  patient.begin();
  editNote(true);
  $("text").focus();
}

async function download() {
  try {
    const found = await json("diagnose", { ...patient.request(), top, explain: 3 });
    const { html } = await json("page", { document: found, part: false });
    save(html, "text/html", `${found.case.id.replace(/[^\p{L}\p{N}_-]+/gu, "-")}.html`);
  } catch (problem) {
    tell(problem.detail, problem.hint);
  }
}

/** Do what a key stands for; whether it stands for anything. */
function keys(key, target) {
  const rows = [...$("ranking").querySelectorAll("li[data-id]")];
  const press = (answer) => () => $("next").querySelector(`[data-answer="${answer}"]`)?.click();
  const work = {
    "/": () => $("term").focus(),
    e: () => editNote(true),
    n: () => $("next").querySelector("button")?.focus(),
    y: press("has"),
    x: press("hasNot"),
    u: patient.undo,
    p: () => window.print(),
    c: () => { const id = target.closest?.("#ranking li")?.dataset.id; if (id) ranking.compare(id); },
    Escape: closeMend,
  }[key] ?? (/^[1-9]$/.test(key) && rows[key - 1] && (() => { ranking.toggle(rows[key - 1].dataset.id); rows[key - 1].isConnected || $("ranking").children[key - 1]?.querySelector(".row").focus(); }));
  if (work) work();
  return Boolean(work);
}

patient.onChange(changed);
ranking.onCompare(() => {
  drawCompare();
  if (ranking.comparing().length === 2) $("compare").scrollIntoView({ block: "nearest" });
});
onLanguage(() => {
  $("state").textContent = graph ? say("ready", { date: graph.slice(0, 10) }) : say("unready");
  drawPatient();
  ranking.draw();
  drawNext();
  drawCompare();
  ranking.tellLeaders();
  nameFindings();
  ranking.learnShown();
});
openNote();
openChips();
ranking.openRanking();
openFiles();
openAsk();
openDialogs(keys);
$("fresh").addEventListener("click", fresh);
$("own").addEventListener("click", fresh);
$("undo").addEventListener("click", patient.undo);
$("more").addEventListener("click", () => { top += FIRST; follow(); });
$("download").addEventListener("click", download);
$("rerank").addEventListener("click", () => byModel("rerank"));
$("think").addEventListener("click", () => byModel("thought"));
$("read-again").addEventListener("click", readAgain);
$("print").addEventListener("click", () => window.print());
$("language").addEventListener("click", () => {
  const was = patient.patient().example;
  speak(chinese() ? "en" : "zh", true);
  if (was) example();
});
$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  useToken($("token").value.trim());
  $("token").value = "";
  about();
});
window.addEventListener("beforeunload", (event) => {
  if (!patient.isEmpty() && !patient.patient().example && !isSaved()) event.preventDefault();
});
translate();
about();
