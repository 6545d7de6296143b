// The note: its text with findings marked in place, and what mends a mark: another status, another term, a term at all.
import { $, json, identifier, make, named, number, say, tell } from "./shared.js";
import * as patient from "./patient.js";

const STATUSES = ["present", "absent", "hypothetical", "family"];
const kind = (status) => (status === "unknown" ? "hypothetical" : status);
let editing = false;
let place = 0; // which mark the arrow keys are at

/** Marks in the order of the text, none inside another. */
function marks() {
  const found = patient.findings().flatMap((finding) => finding.spans.map((span) => ({ ...span, finding })));
  found.push(...patient.unread().map((part) => ({ from: part.from, to: part.to, part })));
  found.sort((one, other) => one.from - other.from || other.to - one.to);
  let reach = 0;
  return found.filter((each) => each.from >= reach && each.to > each.from && (reach = each.to));
}

/** Draw the note; while it is edited, its marks lie behind what is typed. */
export function drawNote() {
  const { text } = patient.patient();
  const open = editing || !text;
  $("typing").hidden = !open;
  $("note").hidden = open;
  $("edit").hidden = !text;
  $("edit").textContent = say(editing ? "done" : "edit");
  if ($("text").value !== text) $("text").value = text;
  $("note").replaceChildren();
  if (open) drawBehind(text);
  else {
    $("note").replaceChildren(...inPlace(text, marks(), marked));
    point(Math.min(place, $("note").children.length - 1), false);
  }
  drawLegend();
}

function inPlace(text, found, draw) {
  const parts = [];
  let last = 0;
  for (const each of found) {
    parts.push(text.slice(last, each.from), draw(each, text.slice(each.from, each.to)));
    last = each.to;
  }
  return [...parts, text.slice(last)];
}

/** Marks of the text that was read, where the text that is typed is still the same: before the change and behind it. */
function drawBehind(text) {
  const was = patient.reading()?.text ?? "";
  const shorter = Math.min(was.length, text.length);
  let head = 0, tail = 0;
  while (head < shorter && was[head] === text[head]) head += 1;
  while (tail < shorter - head && was.at(-1 - tail) === text.at(-1 - tail)) tail += 1;
  const by = text.length - was.length;
  const kept = (was === text ? marks() : marks().filter((each) => each.to <= head || each.from >= was.length - tail))
    .map((each) => (each.from >= was.length - tail && was !== text && !each.finding?.given ? { ...each, from: each.from + by, to: each.to + by } : each));
  const draw = ({ finding }, words) => make("span", { class: `mark-${finding ? kind(finding.status) : "unread"}` }, words);
  $("typed").replaceChildren(...inPlace(text, kept, draw), "\n");
}

function marked({ finding, part }, words) {
  const status = part ? "unread" : kind(finding.status);
  const label = part
    ? say("markUnread", { words })
    : [say("mark", { words, status: say(`status_${status}`), name: named(finding.id, finding.name) }), ...byModel(finding)].join(say("comma"));
  const mark = make("span", { class: `mark-${status}`, role: "button", tabindex: "-1", "aria-label": label, "aria-haspopup": "dialog" }, words);
  if (!part) mark.dataset.key = finding.key;
  mark.dataset.tag = status === "present" ? "" : say(`tag_${status}`);
  if (finding?.doubtful) mark.classList.add("doubtful");
  if (finding?.byModel) mark.classList.add("by-model");
  if (finding?.doubted) mark.classList.add("doubted");
  mark.addEventListener("click", () => mend(mark, finding, words));
  return mark;
}

/** What a language model has to do with a finding, in words: it has read it, or doubts it. */
export const byModel = ({ byModel, doubted }) =>
  [byModel && say("byModel"), doubted && say("doubted", { why: say(`doubt_${doubted}`) })].filter(Boolean);

function drawLegend() {
  const counts = new Map([...STATUSES, "unread"].map((status) => [status, 0]));
  for (const each of patient.findings()) counts.set(kind(each.status), counts.get(kind(each.status)) + 1);
  counts.set("unread", patient.unread().length);
  const items = [...counts].filter(([, n]) => n).map(([status, n]) =>
    make("li", {}, make("span", { class: `mark-${status}` }, say(`status_${status}`)), ` ${number(n)}`));
  const [added, doubted] = ["byModel", "doubted"].map((which) => patient.findings().filter((each) => each[which]).length);
  if (added) items.push(make("li", {}, make("span", { class: "by-model" }, say("byModel")), ` ${number(added)}`));
  if (doubted) items.push(make("li", {}, make("span", { class: "doubted" }, say("doubtedBy")), ` ${number(doubted)}`));
  $("legend").replaceChildren(...items);
  const { length } = patient.unread();
  $("unread-note").hidden = !length || editing;
  $("unread-note").textContent = say(length === 1 ? "unreadNoteOne" : "unreadNote", { n: number(length) });
}

/** Move among the marks. */
function point(at, focus = true) {
  const all = $("note").children;
  if (!all.length) return;
  place = Math.max(0, Math.min(at, all.length - 1));
  for (const mark of all) mark.tabIndex = -1;
  all[place].tabIndex = 0;
  if (focus) all[place].focus();
}

/** Write in the note, or look at it. */
export function editNote(on) {
  if (editing === on) return;
  editing = on;
  drawNote();
  if (on) $("text").focus();
  else $("edit").focus();
}

// What mends a mark.

let from = null; // what the popover belongs to

export function closeMend() {
  if ($("mend").hidden) return;
  $("mend").hidden = true;
  $("mend").replaceChildren();
  const again = from?.dataset.key && $("note").querySelector(`[data-key="${CSS.escape(from.dataset.key)}"]`);
  (again || (from?.isConnected ? from : $("note").querySelector("[tabindex='0']")) || $("edit")).focus();
  from = null;
}

function mend(mark, finding, words) {
  from = mark;
  const box = $("mend");
  const title = make("p", { id: "mend-title", class: "mend-title" });
  title.append(finding ? make("b", {}, named(finding.id, finding.name)) : say("whatIs", { words }));
  if (finding) title.append(" ", make("small", {}, identifier(finding.id)), make("small", { class: "quiet" }, ` ${[say("readFrom", { words }), ...byModel(finding)].join(say("comma"))}`));
  const act = (work) => () => { work(); closeMend(); };
  const statuses = finding ? STATUSES.map((status) => make("button", {
    type: "button", "aria-pressed": String(kind(finding.status) === status), onclick: act(() => patient.setStatus(finding, status)),
  }, say(`status_${status}`))) : [];
  const more = finding ? [make("button", { type: "button", onclick: act(() => patient.remove(finding)) }, say("notThere"))] : [];
  const input = make("input", { type: "text", id: "mend-term", role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "mend-terms", "aria-label": say(finding ? "otherTerm" : "pickTerm"), placeholder: say(finding ? "otherTerm" : "pickTerm"), autocomplete: "off", maxlength: "100" });
  const list = make("ul", { id: "mend-terms", role: "listbox", "aria-label": say("terms"), hidden: true });
  const close = make("button", { type: "button", class: "quiet-button", "aria-label": say("close"), onclick: closeMend }, "×");
  box.replaceChildren(close, title, make("p", { class: "choices" }, ...statuses, ...more), make("div", { class: "combobox" }, input, list));
  const take = (entry) => {
    if (finding) patient.replaceTerm(finding, entry.id, entry.name);
    else patient.add(entry.id, entry.name, "present", words);
    closeMend();
  };
  terms(input, list, take, () => {});
  box.hidden = false;
  put(box, mark);
  if (!finding) {
    input.value = words.replace(/\s+/g, " ").trim().slice(0, 100);
    input.dispatchEvent(new Event("input"));
    input.select();
  }
  (finding ? box.querySelector("[aria-pressed='true']") : input).focus();
}

function put(box, mark) {
  const outer = box.offsetParent.getBoundingClientRect();
  const at = (mark.getClientRects?.()[0] ?? mark).valueOf();
  box.style.left = `${Math.max(0, Math.min(at.left - outer.left, outer.width - box.offsetWidth - 8))}px`;
  box.style.top = `${at.bottom - outer.top + 6}px`;
}

/** Let a combobox choose a finding. */
export function terms(input, list, choose, told) {
  window.kgdxCombobox(input, list, {
    least: (typed) => (/[^\u0000-\u024f]/.test(typed) ? 1 : 2),
    suggest: async (prefix) => {
      try {
        return (await json("terms", { prefix, kinds: ["Phenotype"], limit: 8 })).terms.map(shown);
      } catch (problem) {
        tell(problem.detail, problem.hint);
        throw problem;
      }
    },
    choose,
    tell: told,
  });
}

/** An entry under the name by which it is asked for, where that is in Chinese; otherwise under its own. */
function shown(entry) {
  const matched = entry.matched === entry.name ? "" : entry.matched;
  const han = /\p{Script=Han}/u.test(matched);
  return { id: entry.id, name: entry.name, shown: han ? matched : entry.name, also: han ? entry.name : matched };
}

/** Offer a term for words that a person selects. */
function select() {
  const chosen = window.getSelection();
  const words = chosen.toString().trim();
  if (!words || words.length > 100 || !$("note").contains(chosen.anchorNode) || !$("note").contains(chosen.focusNode)) return;
  const box = chosen.getRangeAt(0).getBoundingClientRect();
  chosen.removeAllRanges();
  const anchor = { dataset: {}, isConnected: false, valueOf: () => box };
  mend(anchor, null, words);
}

export function openNote() {
  $("edit").addEventListener("click", () => editNote(!editing));
  $("text").addEventListener("input", () => { editing = true; patient.setText($("text").value); });
  $("text").addEventListener("keydown", (event) => { if (event.key === "Escape") editNote(false); });
  $("text").addEventListener("scroll", () => { $("typed").scrollTop = $("text").scrollTop; });
  $("note").addEventListener("mouseup", () => setTimeout(select));
  $("note").addEventListener("dblclick", () => setTimeout(select));
  $("note").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) point(place + step);
    else if (event.key === "Home") point(0);
    else if (event.key === "End") point(Infinity);
    else if (event.key === "Enter" || event.key === " ") event.target.click();
    else if (event.key === "Delete" || event.key === "Backspace") strike(event.target);
    else return;
    event.preventDefault();
  });
  $("mend").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented) closeMend();
  });
  document.addEventListener("mousedown", (event) => {
    if (!$("mend").hidden && !$("mend").contains(event.target) && !event.target.closest?.("#note [role=button]")) closeMend();
  });
}

function strike(mark) {
  const finding = patient.findings().find((each) => each.key === mark.dataset?.key);
  if (finding) patient.remove(finding);
}
