// Why a disease stands where it stands: what speaks for it and against it, what is typical and not mentioned, paths.
import { identifier, json, learn, make, named, say } from "./shared.js";
import * as patient from "./patient.js";
import { told as inWords } from "./messages.js";

const WEAK = 0.05; // less is not worth a line
const kept = new Map(); // what was explained last: request and disease → document

/** What each finding adds to a score over all scorers, with how it met the disease; and the rest of the score. */
export function sums(candidate) {
  const found = new Map();
  let rest = 0;
  for (const part of candidate.contributions ?? []) {
    const key = part.finding || part.text;
    const score = part.score ?? 0;
    if (!key) rest += score;
    if (!key) continue;
    const one = found.get(key) ?? { key, finding: part.finding, words: part.text, met: part.words, status: part.status, score: 0, parts: [] };
    one.score += score;
    one.parts.push(part);
    found.set(key, one);
  }
  return { rows: [...found.values()], rest };
}

export const signed = (value) => (Math.abs(value) < 0.05 ? "0.0" : `${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(1)}`);
const published = (references) => [...new Set(references)].sort((one, other) => other.startsWith("PMID:") - one.startsWith("PMID:"));
export const cited = (references = [], most = 3) => {
  const all = published(references);
  const shown = all.slice(0, most).flatMap((each, at) => (at ? [", ", identifier(each)] : [identifier(each)]));
  return all.length > most ? [...shown, ` +${all.length - most}`] : shown;
};

/** The label of what adds to a score. */
export function label(row, names) {
  const name = row.finding ? named(row.finding, names.get(row.finding)) : inWords(row.words);
  return row.status === "absent" && row.finding ? say("absentIs", { name }) : name;
}
export const labels = (shown) => new Map((shown.case.findings ?? []).map((each) => [each.id, each.label]));

function reason(row, names, most) {
  const main = row.parts.find((part) => part.matched || part.rule !== "background") ?? row.parts[0];
  const how = [say(`rule_${main.rule}`)];
  if (main.matched && main.matched !== row.finding && /^HP:/.test(main.matched)) how.push(named(main.matched, names.get(main.matched)));
  if (row.met) how.push(`“${row.met}”`);
  if (main.frequency) how.push(oftenWords(main.frequency));
  const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("i", {}));
  bar.firstChild.style.width = `${Math.round((100 * Math.abs(row.score)) / most)}%`;
  const references = row.parts.flatMap((part) => part.references ?? []);
  return make("li", {}, make("span", { class: "what" }, label(row, names), make("small", {}, how.filter(Boolean).join(" · "), references.length ? " · " : "", ...cited(references))),
    bar, make("span", { class: "score" }, signed(row.score)));
}

/** How often something is seen, in the page's language; counts with their percentage. */
export function oftenWords(words) {
  const share = /^(\d+)(?: of |\/)(\d+)$/.exec(words);
  if (share && Number(share[2])) return say("ofSo", { n: share[1], of: share[2], percent: Math.round((100 * share[1]) / share[2]) });
  const named_ = /^(obligate|very frequent|frequent|occasional|very rare|excluded)\b.*?(\(.*\))?$/i.exec(words);
  return named_ ? `${say(`often_${named_[1].toLowerCase().replace(" ", "_")}`)} ${named_[2] ?? ""}`.trim() : words;
}

/** Where a language model moved it from, why it names it, and what the marks of its reason stand for. */
function moved(candidate) {
  const reason = candidate.reason;
  const stays = !candidate.retrieved_rank || candidate.retrieved_rank === (candidate.family_rank ?? candidate.rank);
  if (stays && !reason?.text) return [];
  const grounds = (reason?.grounds ?? []).map((each) => make("li", {}, make("span", { class: "what" }, `[${each.mark}] ${each.text}`, make("small", {}, ...cited(each.references)))));
  return [make("h4", {}, stays ? say("modelSays") : say("byScore", { n: candidate.retrieved_rank })), reason?.text ? make("p", {}, reason.text) : "", grounds.length ? make("ul", { class: "speaksFor" }, grounds) : ""];
}

/** Return the reasons of a candidate; what takes longer comes into it when it is there. */
export function why(candidate, shown) {
  const reasons = make("div", {});
  const box = make("div", { class: "why" },
    make("p", { class: "quiet" }, ...candidate.members.flatMap((id, at) => (at ? [" = ", identifier(id)] : [identifier(id)]))),
    moved(candidate), reasons, family(candidate));
  const more = make("div", { class: "more-why", "aria-busy": "true" }, make("p", { class: "quiet" }, say("looking")));
  box.append(more);
  tell(candidate, shown, reasons, more);
  return box;
}

/** What each finding adds to a disease's score, for and against it. */
function weighed(candidate, shown) {
  const names = labels(shown);
  const { rows, rest } = sums(candidate);
  const most = Math.max(...rows.map((each) => Math.abs(each.score)), WEAK);
  const list = (key, found) => (found.length ? [make("h4", {}, say(key)), make("ul", { class: key }, found.map((each) => reason(each, names, most)))] : []);
  const for_ = rows.filter((each) => each.score >= WEAK).sort((one, other) => other.score - one.score);
  const against = rows.filter((each) => each.score <= -WEAK).sort((one, other) => one.score - other.score);
  const silent = rows.filter((each) => Math.abs(each.score) < WEAK && each.finding && each.status === "present");
  return [
    ...list("speaksFor", for_), ...list("speaksAgainst", against),
    silent.length ? make("p", { class: "quiet" }, say("silent", { names: silent.map((each) => label(each, names)).join(", ") })) : "",
    Math.abs(rest) >= WEAK ? make("p", { class: "quiet" }, say("wholeDisease", { score: signed(rest) })) : ""];
}

function family(candidate) {
  const others = candidate.in_family?.length ? candidate.family_size - 1 : 0;
  if (!others) return "";
  const [own, theirs] = [candidate.genes ?? [], candidate.in_family[0].genes ?? []];
  const byGene = own.length && theirs.length && !own.some((gene) => theirs.includes(gene));
  const apart = byGene ? `${own.join(", ")} / ${theirs.join(", ")}` : candidate.separated_by && named(candidate.separated_by.finding, candidate.separated_by.name);
  const shown = candidate.in_family.slice(0, 10).map((each) => make("li", {}, `${each.rank}. ${each.name_zh && say("zh") ? each.name_zh : each.name} `, make("small", {}, identifier(each.id))));
  return make("details", {}, make("summary", {}, say(apart ? "familyApart" : "family", { n: others, apart })), make("ol", { class: "plain" }, shown));
}

/** What the server says of a disease, as a document of one candidate; names in the page's language are learnt. */
export async function explained(candidate, signal) {
  const asked = { ...patient.request(), disease: candidate.id };
  const key = JSON.stringify(asked);
  const found = kept.get(key) ?? (await json("explain", asked, signal));
  kept.set(key, found);
  if (kept.size > 20) kept.delete(kept.keys().next().value);
  const nodes = Object.values(found.evidence ?? {}).flat().flatMap((path) => path.nodes.map((node) => node.id));
  const terms = found.candidates.flatMap((each) => (each.contributions ?? []).flatMap((part) => [part.finding, part.matched, part.via]));
  await learn([...nodes, ...terms].filter(Boolean));
  return found;
}

async function tell(candidate, shown, reasons, box) {
  try {
    const found = await explained(candidate);
    const paths = Object.values(found.evidence ?? {})[0] ?? [];
    if (!box.isConnected) return;
    reasons.replaceChildren(...weighed(found.candidates[0], shown));
    box.replaceChildren(...typical(paths), ...told(paths), ...publications(paths));
  } catch (problem) {
    if (box.isConnected) box.replaceChildren(make("p", { class: "quiet" }, problem.detail ?? ""));
  }
  box.removeAttribute("aria-busy");
}

function typical(paths) {
  const found = paths.filter((path) => path.kind === "typical_unmentioned");
  if (!found.length) return [];
  const items = found.map((path) => {
    const node = path.nodes.find((each) => each.id === path.finding) ?? path.nodes[0];
    const name = named(node.id, node.name);
    const answer = (status, words) => make("button", { type: "button", class: "small", "aria-label": say(`${words}Is`, { name }), onclick: () => patient.add(node.id, node.name, status) }, say(words));
    return make("li", {}, make("span", { class: "what" }, name, make("small", {}, path.frequency ? `${oftenWords(path.frequency)} · ` : "", ...cited(path.references))),
      make("span", { class: "answers" }, answer("present", "has"), answer("absent", "hasNot")));
  });
  return [make("h4", {}, say("typical")), make("ul", { class: "typical" }, items)];
}

function told(paths) {
  if (!paths.length) return [];
  const items = paths.map((path) => make("li", {}, ...path.nodes.flatMap((node, at) => {
    const edge = path.relations[at - 1];
    const arrow = edge ? make("i", {}, ` ${say(`edge_${edge.type}${edge.reversed ? "_back" : ""}`) || edge.type} `) : "";
    return [arrow, node.label === "PatientCase" ? say("patient") : named(node.id, node.name)];
  }), make("small", {}, path.frequency ? ` ${oftenWords(path.frequency)}` : "", path.references?.length ? " · " : "", ...cited(path.references))));
  return [make("details", {}, make("summary", {}, say("paths", { n: paths.length })), make("ul", { class: "paths" }, items))];
}

function publications(paths) {
  const all = published(paths.flatMap((path) => path.references ?? [])).filter((each) => each.startsWith("PMID:"));
  return all.length ? [make("p", { class: "quiet" }, `${say("publications")} `, ...cited(all, 12))] : [];
}
