// The ranking: a row for each disease, how far it moved, and what a row opens to.
import { $, chinese, learn, make, number, say } from "./shared.js";
import { told } from "./messages.js";
import { why } from "./why.js";

const NEAR = 120; // pixels that a row glides; one that goes farther fades in
const still = window.matchMedia("(prefers-reduced-motion: reduce)");
let shown = null; // the document that is shown
let before = new Map(); // id → rank before the last change
let open = null; // id of the disease whose reasons are shown
let compared = []; // ids, two at most
const listeners = [];

export const diagnosis = () => shown;
export const comparing = () => compared;
/** Call a function when other diseases are compared. */
export const onCompare = (listener) => listeners.push(listener);
export const place = (candidate) => candidate.family_rank ?? candidate.rank;
/** A disease's name in the page's language; on a Chinese page the English one beside it. */
export function titles(candidate) {
  const english = candidate.name || candidate.id;
  const name = (chinese() && candidate.name_zh) || english;
  return { name, also: name === english ? "" : english };
}

/** Show a new ranking, or nothing; rows that are there move to their new places. */
export function show(document_) {
  const ranks = new Map((shown?.candidates ?? []).map((each) => [each.id, place(each)]));
  if (document_ && shown && document_ !== shown) before = ranks;
  if (!document_) before = new Map();
  shown = document_;
  draw();
}

/** Say how far the list can be relied on, for which setting it is made, and what was left out of it. */
function drawJudged() {
  $("progress").textContent = shown ? say("of", { n: number(shown.n_candidates ?? 0) }) : "";
  const { text, setting, setting_rule: rule, left_out: out = [] } = shown?.judgement ?? {};
  const parts = [told(text), setting && say("settingIs", { setting: say(`setting_${setting}`), rule: told(rule) }), out.length && say("leftOut", { what: out.map(told).join(say("comma")) })];
  $("judged").textContent = parts.filter(Boolean).join(" ");
  const { dangerous = [], tests = [] } = shown?.judgement ?? {};
  lane("dangerous", "mustNotMiss", dangerous.map((each) => [titles(each).name, say("settledBy", { rank: number(each.rank), test: (chinese() && each.settled_by_zh) || each.settled_by })]));
  lane("tests", "testNext", tests.map((each) => [told(each.name), each.predicts.filter((one) => one.result !== "not recorded").map((one) => `${named_(one)}: ${told(one.result)}`).join("; ")]));
  for (const id of ["columns", "fit-help"]) $(id).hidden = !shown;
}

const named_ = ({ id, name }) => titles(shown.candidates.find((each) => each.id === id) ?? { name }).name;
function lane(id, heading, rows) {
  $(id).hidden = !rows.length;
  $(id).replaceChildren(make("h3", {}, say(heading)), make("ul", {}, rows.map(([name, more]) => make("li", {}, name, make("small", {}, more)))));
}

/** Draw the rows anew; what is open stays open. */
export function draw() {
  drawJudged();
  const list = $("ranking");
  const rows = new Map([...list.children].map((row) => [row.dataset.id, row]));
  const tops = new Map([...rows].map(([id, row]) => [id, row.getBoundingClientRect().top]));
  const focused = document.activeElement?.closest?.("#ranking li")?.dataset.id;
  const role = document.activeElement?.className;
  const candidates = shown?.candidates ?? [];
  const best = Math.max(...candidates.map((each) => each.score), 1e-9);
  list.replaceChildren(...candidates.map((each) => row(each, best)));
  if (focused) {
    const again = list.querySelector(`[data-id="${CSS.escape(focused)}"]`);
    (again?.getElementsByClassName(role)[0] ?? again?.querySelector("button"))?.focus({ preventScroll: true });
  }
  if (!still.matches) glide(list, tops);
  if (open && !candidates.some((each) => each.id === open)) open = null;
}

function glide(list, tops) {
  const moved = [...list.children].map((row) => [row, (tops.get(row.dataset.id) ?? NaN) - row.getBoundingClientRect().top]);
  for (const [row, by] of moved) {
    if (!by) continue;
    const from = Math.abs(by) <= NEAR ? { transform: `translateY(${by}px)` } : { opacity: 0.2 };
    row.animate([from, { transform: "none", opacity: 1 }], { duration: 160, easing: "ease-out" });
  }
}

function row(candidate, best) {
  const { name, also } = titles(candidate);
  const rank = place(candidate);
  const isOpen = candidate.id === open;
  const width = Math.max(0, Math.round(100 * (candidate.explained ?? candidate.score / best)));
  const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("i", {}));
  bar.firstChild.style.width = `${width}%`;
  const button = make("button", { type: "button", class: "row", "aria-expanded": String(isOpen), onclick: () => toggle(candidate.id) },
    make("span", { class: "rank" }, String(rank)),
    movement(candidate, rank),
    make("span", { class: "what" }, name, also ? make("small", {}, also) : "", candidate.genes?.length ? make("small", {}, [candidate.genes.slice(0, 3).join(", "), ...(candidate.inheritance ?? []).map(told)].join("; ")) : ""),
    bar,
    make("span", { class: "score" }, make("span", { class: "unseen" }, `${say("fit")} `), candidate.score.toFixed(1)));
  const box = make("input", { type: "checkbox", class: "pick", "aria-label": say("compareThis", { name }), title: say("compareThis", { name }) });
  box.checked = compared.includes(candidate.id);
  box.addEventListener("change", () => compare(candidate.id));
  const item = make("li", { "data-id": candidate.id, value: String(rank), class: isOpen ? "open" : "" }, make("div", { class: "line" }, button, box));
  if (isOpen) item.append(why(candidate, shown));
  return item;
}

/** Say how far a disease moved by the last change, or by a language model from where it was retrieved. */
function movement({ id, retrieved_rank: retrieved }, rank) {
  const was = retrieved ?? before.get(id);
  if ((!before.size && !retrieved) || was === rank) return make("span", { class: "move" });
  if (was === undefined) return make("span", { class: "move new", title: say("isNew") }, make("span", { "aria-hidden": "true" }, say("newMark")), make("span", { class: "unseen" }, say("isNew")));
  const up = was > rank;
  const words = say(up ? "roseFrom" : "fellFrom", { n: was });
  return make("span", { class: `move ${up ? "up" : "down"}`, title: words },
    make("span", { "aria-hidden": "true" }, `${up ? "▲" : "▼"}${Math.abs(was - rank)}`), make("span", { class: "unseen" }, words));
}

/** Show or hide why a disease stands where it stands. */
export function toggle(id) {
  open = open === id ? null : id;
  draw();
  const line = $("ranking").querySelector("li.open");
  line?.scrollIntoView({ block: "nearest", behavior: still.matches ? "auto" : "smooth" });
}

/** Put a disease into the comparison, or take it out; the one that was chosen first gives way to a third. */
export function compare(id) {
  compared = compared.includes(id) ? compared.filter((each) => each !== id) : [...compared, id].slice(-2);
  for (const item of $("ranking").children) item.querySelector(".pick").checked = compared.includes(item.dataset.id);
  for (const listener of listeners) listener();
}
export function stopComparing() {
  compared = [];
  for (const box of $("ranking").querySelectorAll(".pick")) box.checked = false;
  for (const listener of listeners) listener();
}

/** Say in a few words what leads now, for whoever does not see it, and on a phone. */
export function tellLeaders() {
  const leading = (shown?.candidates ?? []).slice(0, 3).map((each) => {
    const was = before.get(each.id);
    const moved = was && was !== place(each) ? say("was", { n: was }) : "";
    return `${place(each)} ${titles(each).name}${moved && ` (${moved})`}`;
  });
  $("said-ranking").textContent = leading.join(", ");
  $("leader").firstElementChild.textContent = leading.length ? leading[0] : "";
  $("leader").hidden = !leading.length;
}

/** Learn the Chinese names of all that the shown rows mention. */
export async function learnShown() {
  const ids = (shown?.candidates ?? []).map((each) => each.separated_by?.finding);
  if (await learn(ids.filter(Boolean))) draw();
}

export function openRanking() {
  $("ranking").addEventListener("keydown", (event) => {
    const item = event.target.closest("li[data-id]");
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !event.target.classList.contains("row")) return;
    (step > 0 ? item.nextElementSibling : item.previousElementSibling)?.querySelector(".row").focus();
    event.preventDefault();
  });
}
