// The patient: the note as it was read, what a person changed of it, and what the server is asked about.
export const UNCERTAIN = ["unknown", "hypothetical"];
const PAST = 200; // changes that can be undone

const blank = () => ({ title: "", text: "", about: {}, edits: {}, added: [], example: false });
let now = blank();
let past = [];
let read = null; // what the server read of the text
const listeners = [];

export const patient = () => now;
export const reading = () => read;
/** Call a function after each change, with what changed: `text`, `findings`, `about`, `title` or `read`. */
export const onChange = (listener) => listeners.push(listener);
const changed = (what) => listeners.forEach((listener) => listener(what));

function change(what, part, remember = true) {
  if (remember) past = [...past.slice(-PAST), now];
  now = { ...now, ...part };
  changed(what);
}

/** Begin another patient; the one before can be brought back. */
export function begin(given = {}) {
  read = null;
  change("text", { ...blank(), ...given });
}
export const canUndo = () => past.length > 0;
export function undo() {
  if (!past.length) return;
  const before = now;
  now = past.pop();
  if (before.text !== now.text) read = null;
  changed(before.text === now.text ? "findings" : "text");
}
export function setText(text) {
  if (text === now.text) return;
  const typing = past.length && past.at(-1).typing;
  change("text", { text, example: false, typing: true }, !typing);
  if (!typing) past[past.length - 1] = { ...past.at(-1), typing: true };
}
export const setTitle = (title) => change("title", { title }, false);
export const setAbout = (name, value) => change("about", { about: { ...now.about, [name]: value } });
/** Take what the server read of the text. */
export function setRead(found) {
  const at = places(found.text);
  const span = (each) => ({ ...each, from: at(each.start), to: at(each.end) });
  read = { ...found, mentions: found.findings.filter((each) => each.span).map(located), unread: found.unread.map(span) };
  changed("read");

  function located(each) {
    return { ...each, start: each.span[0], end: each.span[1], from: at(each.span[0]), to: at(each.span[1]) };
  }
}

/** Places of the server count characters, those of the page units of UTF-16: an emoji is one, and two. */
function places(text) {
  if (!/[\ud800-\udbff]/.test(text)) return (place) => place;
  const units = [0];
  for (const character of text) units.push(units.at(-1) + character.length);
  return (place) => units[Math.min(place, units.length - 1)];
}

const keyOf = (finding) => `${finding.id}|${finding.status}`;

/** The findings as they stand: what was read, as it was corrected, and what was added; in the order of the text. */
export function findings() {
  const found = (read?.case.findings ?? []).map(corrected);
  const added = now.added.map((each) => ({ ...each, key: `+${each.id}`, spans: spansOf(each.words), given: true, confirmed: true }));
  const shown = found.filter((each) => !each.removed && !added.some((other) => other.id === each.id));
  return [...shown, ...added].sort((one, other) => first(one) - first(other));
}
const first = (finding) => finding.spans[0]?.from ?? Infinity;

function corrected(finding) {
  const key = keyOf(finding);
  const edit = now.edits[key] ?? {};
  const spans = read.mentions.filter((each) => each.id === finding.id && each.status === finding.status);
  const status = edit.status ?? finding.status;
  const doubtful = !edit.confirmed && (UNCERTAIN.includes(status) || ["fuzzy", "encoder"].includes(finding.method));
  return {
    ...finding, key, name: finding.label || finding.id, status, spans, read: finding.status, doubtful,
    byModel: finding.method.startsWith("model"), doubted: edit.confirmed ? "" : finding.doubt,
    removed: Boolean(edit.removed), confirmed: Boolean(edit.confirmed),
  };
}

function spansOf(words) {
  const from = words ? now.text.indexOf(words) : -1;
  return from < 0 ? [] : [{ from, to: from + words.length }];
}

/** What was not read, without what a person has named a finding for. */
export function unread() {
  const named = now.added.flatMap((each) => spansOf(each.words));
  return (read?.unread ?? []).filter((each) => !named.some((span) => span.from < each.to && each.from < span.to));
}

function edit(key, part) {
  change("findings", { edits: { ...now.edits, [key]: { ...now.edits[key], ...part } } });
}
/** Say what a finding is: present, absent, a relative's, uncertain. */
export function setStatus(finding, status) {
  if (finding.given) change("findings", { added: now.added.map((each) => (each.id === finding.id ? { ...each, status } : each)) });
  else edit(finding.key, { status, confirmed: true });
}
export const flip = (finding) => setStatus(finding, finding.status === "present" ? "absent" : "present");
export function confirm(finding) {
  if (UNCERTAIN.includes(finding.status)) return setStatus(finding, "present");
  if (!finding.given) edit(finding.key, { confirmed: !finding.confirmed });
}
export function remove(finding) {
  if (finding.given) change("findings", { added: now.added.filter((each) => each.id !== finding.id) });
  else edit(finding.key, { removed: true });
}
/** Add a finding; with words, it is what they mean. One that is there gets the status. */
export function add(id, name, status = "present", words = "") {
  const there = findings().find((each) => each.id === id);
  if (there && there.status === status && !words) return;
  if (there && !words) return setStatus(there, status);
  const others = now.added.filter((each) => each.id !== id);
  change("findings", { added: [...others, { id, name, label: name, status, words }] });
}
/** Put another term in the place of a finding that was read wrongly. */
export function replaceTerm(finding, id, name) {
  const words = finding.words ?? finding.text;
  const kept = now.added.filter((each) => each.id !== id && each.id !== finding.id);
  const edits = finding.given ? now.edits : { ...now.edits, [finding.key]: { removed: true } };
  change("findings", { edits, added: [...kept, { id, name, label: name, status: finding.status, words }] });
}

/** What is known beside the findings: what a person set, else what the text says. */
export function about(name) {
  if (now.about[name] !== undefined) return now.about[name];
  const found = read?.case;
  if (!found) return "";
  const said = {
    sex: found.sex, age: found.age, onset: found.onset, inheritance: found.family.inheritance[0],
    consanguineous: found.family.consanguineous === null ? "" : String(found.family.consanguineous),
    genes: found.genes.join(", "),
  };
  return said[name] ?? "";
}
export const isEmpty = () => !now.text.trim() && !now.added.length;

/** The patient as a request: findings as they stand, and what is known beside them. */
export function request() {
  const related = about("consanguineous");
  return {
    title: now.title.trim(),
    text: now.text,
    findings: [...findings().flatMap(sent), ...removed()].slice(0, 1000),
    sex: about("sex") || "UNKNOWN",
    age: about("age").trim() || null,
    onset: about("onset") || null,
    inheritance: about("inheritance") || null,
    consanguineous: related === "" ? null : related === "true",
    setting: about("setting") || null,
    genes: about("genes").split(/[\s,;，、；]+/).filter(Boolean),
  };
}

function sent(finding) {
  const { id, status, severity = "", modifiers = [], since = "", doubt = "" } = finding;
  const one = { id, status, severity, modifiers, since, doubt };
  const places = finding.spans.filter((span) => span.start !== undefined);
  if (!places.length) return [{ ...one, text: finding.words ?? "" }];
  const every = finding.status === finding.read ? places.slice(0, 1) : places;
  const said = { text: (finding.text ?? "").slice(0, 1000), value: finding.value, unit: finding.unit };
  return every.map((span) => ({ ...one, ...said, start: span.start, end: span.end }));
}

function removed() {
  const gone = (read?.case.findings ?? []).filter((each) => now.edits[keyOf(each)]?.removed);
  const mentions = gone.flatMap((each) => read.mentions.filter((other) => other.id === each.id && other.status === each.status));
  return mentions.map((each) => ({ id: each.id, status: "removed", start: each.start, end: each.end, doubt: each.doubt }));
}
