// What separates diseases: the finding to look for next, and two candidates side by side.
import { $, json, learn, make, named, say } from "./shared.js";
import * as patient from "./patient.js";
import { comparing, diagnosis, place, stopComparing, titles } from "./ranking.js";
import { explained, label, labels, signed, sums } from "./why.js";

let proposed = null; // what the server proposed last
let passed = new Set(); // findings that nobody can tell of now
let asking = null;

const percent = (share) => `${Math.round(100 * share)} %`;

/** Ask what would separate the leading diseases, and show it. */
export async function propose(signal) {
  try {
    proposed = await json("questions", { ...patient.request(), count: 12, leaders: 4 }, signal);
    await learn(proposed.questions.map((each) => each.id));
    drawNext();
  } catch (problem) {
    if (problem.name !== "AbortError") forget();
  }
}
/** Propose nothing. */
export function forget() {
  proposed = null;
  drawNext();
}
/** Begin anew with what nobody could tell of. */
export const forgetPassed = () => { passed = new Set(); };

function answers(id, name, pass) {
  const shown = named(id, name);
  const one = (key, work, main) => make("button", { type: "button", class: main ? "small main" : "small", "data-answer": key, "aria-label": say(`${key}Is`, { name: shown }), onclick: work }, say(key));
  const parts = [one("has", () => patient.add(id, name, "present")), one("hasNot", () => patient.add(id, name, "absent"))];
  if (pass) parts.push(one("later", pass));
  return make("span", { class: "answers" }, parts);
}

function shares(leaders, often) {
  return make("ul", { class: "often" }, leaders.map((leader, at) => {
    const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("i", {}));
    bar.firstChild.style.width = percent(often[at]).replace(" ", "");
    const recorded = often[at] ? [bar, make("span", { class: "score" }, percent(often[at]))] : make("span", { class: "quiet none" }, say("notRecorded"));
    return make("li", {}, make("span", { class: "what" }, titles(leader).name), recorded);
  }));
}

/** Draw what to examine next. */
export function drawNext() {
  const box = $("next");
  const open = (proposed?.questions ?? []).filter((each) => !passed.has(each.id));
  const had = box.contains(document.activeElement) && document.activeElement.dataset.answer;
  box.hidden = !open.length;
  if (!open.length) return box.replaceChildren();
  const [best, ...others] = open;
  const pass = (id) => () => { passed.add(id); drawNext(); };
  const rest = others.slice(0, 4).map((each) => make("li", {}, make("span", { class: "what" }, named(each.id, each.name)), answers(each.id, each.name)));
  const opened = box.querySelector("details")?.open;
  box.replaceChildren(
    make("h3", { id: "next-title" }, say("next")),
    make("p", { class: "question" }, make("b", {}, named(best.id, best.name)), answers(best.id, best.name, pass(best.id))),
    shares(proposed.leaders, best.often),
    rest.length ? make("details", { open: Boolean(opened) }, make("summary", {}, say("nextAlso", { n: rest.length })), make("ul", { class: "plain" }, rest)) : "");
  if (had) (box.querySelector(`[data-answer="${had}"]`) ?? box.querySelector("button")).focus();
}

/** Draw two candidates side by side: what each finding says of them, and what would tell them apart. */
export async function drawCompare() {
  const box = $("compare");
  const shown = diagnosis();
  const chosen = comparing().map((id) => shown?.candidates.find((each) => each.id === id)).filter(Boolean);
  asking?.abort();
  box.hidden = !chosen.length;
  if (!chosen.length) return box.replaceChildren();
  const close = make("button", { type: "button", class: "quiet-button", "aria-label": say("stopComparing"), onclick: () => { stopComparing(); $("ranking").querySelector(".row")?.focus(); } }, "×");
  const head = make("h3", { id: "compare-title" }, say("comparison"));
  if (chosen.length < 2) return box.replaceChildren(close, head, make("p", { class: "quiet" }, say("chooseSecond", { name: titles(chosen[0]).name })));
  const side = make("div", { "aria-busy": "true" });
  const apart = make("div", { "aria-busy": "true" });
  box.replaceChildren(close, head, side, apart);
  asking = new AbortController();
  const { signal } = asking;
  try {
    const told = await Promise.all(chosen.map((each) => explained(each, signal)));
    if (signal.aborted) return;
    side.replaceChildren(table(chosen.map((each, at) => ({ ...each, contributions: told[at].candidates[0].contributions })), shown));
    side.removeAttribute("aria-busy");
    const found = await json("questions", { ...patient.request(), count: 6, between: chosen.map((each) => each.id) }, signal);
    await learn(found.questions.map((each) => each.id));
    apart.replaceChildren(make("h4", {}, say("wouldSeparate")), make("ul", { class: "separators" }, found.questions.map((each) =>
      make("li", {}, make("span", { class: "what" }, named(each.id, each.name), make("small", {}, found.leaders.map((leader, at) => `${titles(leader).name} ${percent(each.often[at])}`).join(" · "))), answers(each.id, each.name)))));
  } catch (problem) {
    if (problem.name !== "AbortError") apart.replaceChildren(make("p", { class: "quiet" }, problem.detail ?? ""));
  }
  apart.removeAttribute("aria-busy");
}

function table(chosen, shown) {
  const names = labels(shown);
  const found = chosen.map((each) => new Map(sums(each).rows.map((row) => [row.key, row])));
  const keys = [...new Set(found.flatMap((each) => [...each.keys()]))].map((key) => {
    const scores = found.map((each) => each.get(key)?.score ?? 0);
    return { key, row: found[0].get(key) ?? found[1].get(key), scores, apart: Math.abs(scores[0] - scores[1]) };
  }).filter((each) => each.scores.some((score) => Math.abs(score) >= 0.05)).sort((one, other) => other.apart - one.apart);
  const most = Math.max(...keys.flatMap((each) => each.scores.map(Math.abs)), 0.05);
  const cell = (score) => {
    const bar = make("span", { class: `bar ${score < 0 ? "minus" : ""}`, "aria-hidden": "true" }, make("i", {}));
    bar.firstChild.style.width = `${Math.round((100 * Math.abs(score)) / most)}%`;
    return make("td", {}, make("span", { class: "cell" }, bar, make("span", { class: "score" }, signed(score))));
  };
  const head = make("tr", {}, make("td", {}), chosen.map((each) => make("th", { scope: "col" }, `${place(each)} ${titles(each).name}`)));
  const body = keys.map((each) => make("tr", {}, make("th", { scope: "row" }, label(each.row, names)), each.scores.map(cell)));
  const total = make("tr", { class: "total" }, make("th", { scope: "row" }, say("fit")), chosen.map((each) => make("td", {}, make("span", { class: "score" }, each.score.toFixed(1)))));
  return make("div", { class: "scroller", role: "region", tabindex: "0", "aria-label": say("contributions") }, make("table", {}, make("thead", {}, head), make("tbody", {}, body, total)));
}
