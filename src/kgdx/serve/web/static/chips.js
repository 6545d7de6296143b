// The findings as chips, the measured values as a table, and what is known of the patient beside them.
import { $, make, named, say } from "./shared.js";
import * as patient from "./patient.js";
import { byModel, terms } from "./note.js";

const SIGN = { present: "+", absent: "−", family: "⌂", unknown: "?", hypothetical: "?" };

const ALL = "#patient .chip";
const measured = (finding) => finding.value !== null && finding.value !== undefined;

/** Draw the findings, and what was measured as a table; the chip that had the focus keeps it. */
export function drawFindings() {
  const { activeElement } = document;
  const had = activeElement?.closest?.(ALL);
  const at = had ? [...document.querySelectorAll(ALL)].indexOf(had) : -1;
  const found = patient.findings();
  const named_ = found.filter((each) => !measured(each)).map((each) => chip(each, "li"));
  const known = patient.isEmpty() || patient.reading(); // nothing is said of a note that is being read
  const none = make("li", { class: "none" }, known ? say(patient.isEmpty() ? "noFindings" : "noneRead") : "");
  $("chips").replaceChildren(...(found.length ? named_ : [none]));
  drawValues(found.filter(measured));
  if (at < 0) return;
  const all = [...document.querySelectorAll(ALL)];
  const same = all.find((each) => each.dataset.key === had.dataset.key) ?? all[Math.min(at, all.length - 1)];
  (same?.querySelector(`[data-act="${activeElement.dataset.act}"]`) ?? same?.querySelector("button") ?? $("term")).focus();
}

function chip(finding, tag) {
  const name = named(finding.id, finding.name);
  const status = say(`status_${finding.status}`);
  const button = (act, label, content, work, more = {}) =>
    make("button", { type: "button", "data-act": act, "aria-label": label, title: label, onclick: () => work(finding), ...more }, content);
  const confirmed = !finding.given && button("confirm", say(finding.doubtful ? "confirmDoubt" : "confirm", { name }), "✓", patient.confirm,
    { class: "confirm", "aria-pressed": String(finding.confirmed) });
  const item = make(tag, { class: `chip ${finding.status}${finding.doubtful ? " doubtful" : ""}`, "data-key": finding.key },
    button("flip", say("turn", { name, status }), [make("span", { class: "sign", "aria-hidden": "true" }, SIGN[finding.status]), finding.status === "present" ? "" : status], patient.flip, { class: "flip" }),
    make("span", { class: `name${finding.byModel ? " by-model" : ""}${finding.doubted ? " doubted" : ""}` }, name),
    qualified(finding),
    ...byModel({ doubted: finding.doubted }).map((words) => make("small", { class: "doubts" }, words)),
    confirmed || "",
    button("remove", say("remove", { name }), "×", patient.remove, { class: "remove" }));
  item.title = [`${finding.id} ${finding.name}`, finding.text, ...byModel(finding)].filter(Boolean).join(" · ");
  const light = (on) => () => $("note").querySelectorAll(`[data-key="${CSS.escape(finding.key)}"]`).forEach((mark) => mark.classList.toggle("lit", on));
  item.addEventListener("mouseenter", light(true));
  item.addEventListener("mouseleave", light(false));
  return item;
}

/** How severe a finding is, on which side, in what course and for how long. */
function qualified(finding) {
  if (finding.status !== "present") return "";
  const name = named(finding.id, finding.name).toLowerCase(); // "recurrent" is not said twice
  const said = [finding.severity, ...(finding.modifiers ?? [])].filter(Boolean).map((id) => say(`qualifier_${id.slice(3)}`)).filter((words) => !name.includes(words));
  const [, time, count, unit] = /^P(T?)(\d+)([YMWDH])$/.exec(finding.since ?? "") ?? [];
  const units = unit ? say(`unit_${time && unit === "M" ? "minutes" : unit}`) : "";
  if (unit) said.push(`${count} ${count === "1" ? units.replace(/s$/, "") : units}`);
  return said.length ? make("small", { class: "quiet" }, said.filter(Boolean).join(say("comma"))) : "";
}

/** Draw what was measured with the usual range and what it was read as; also what nothing was made of. */
function drawValues(judged) {
  const { text } = patient.patient();
  const left = patient.unread().filter((each) => each.unit || each.value !== null);
  $("values-box").hidden = !(judged.length + left.length);
  const head = ["measured", "range", "meaning"].map((key) => make("th", { scope: "col" }, say(key)));
  $("values-box").querySelector("thead").replaceChildren(make("tr", {}, head));
  const groups = new Map(); // one value may say two things
  for (const each of judged) {
    const at = each.spans[0]?.from ?? each.key;
    groups.set(at, [...(groups.get(at) ?? []), each]);
  }
  const rows = [
    ...[...groups.values()].map((found) => row(found[0].text || found[0].name, found[0], found.map((each) => chip(each, "span")))),
    ...left.map((each) => row(text.slice(each.from, each.to), each, make("span", { class: "quiet" }, say("notJudged")))),
  ];
  $("values-box").querySelector("tbody").replaceChildren(...rows);
}

function row(words, each, meaning) {
  const { low = null, high = null, source = "" } = each.range ?? {};
  const range = low === null ? (high === null ? "" : `≤ ${high}`) : high === null ? `≥ ${low}` : `${low}–${high}`;
  const unit = range && each.unit ? make("small", { class: "unit" }, `\u00a0${each.unit}`) : "";
  return make("tr", {}, make("th", { scope: "row" }, words), make("td", { title: source }, range, unit), make("td", { class: "chips" }, meaning));
}

/** Show what is known beside the findings; a field that somebody writes in is left alone. */
export function drawAbout() {
  for (const field of $("about").elements) {
    if (!field.name || field === document.activeElement) continue;
    const value = patient.about(field.name);
    if (field.tagName === "SELECT" && value && ![...field.options].some((option) => option.value === value)) {
      field.append(make("option", { value }, value));
    }
    field.value = field.name === "age" ? plainAge(value) : value;
    field.classList.toggle("read", Boolean(value) && patient.patient().about[field.name] === undefined);
  }
  if ($("title") !== document.activeElement) $("title").value = patient.patient().title;
}

/** An ISO duration as a person writes it, as far as it has one part. */
function plainAge(value) {
  const found = /^P(\d+)([YMWD])$/.exec(value);
  if (!found) return value;
  return found[2] === "Y" ? found[1] : `${found[1]} ${say(`unit_${found[2]}`)}`;
}

export function openChips() {
  terms($("term"), $("terms"), (entry) => {
    patient.add(entry.id, entry.name);
    $("term-status").textContent = "";
  }, (n) => ($("term-status").textContent = n ? say("found", { n }) : say("none")));
  $("patient").addEventListener("keydown", (event) => {
    const item = event.target.closest(".chip");
    if (!item) return;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const finding = patient.findings().find((each) => each.key === item?.dataset.key);
    if (step) {
      const all = [...document.querySelectorAll(ALL)];
      const next = all[all.indexOf(item) + step];
      (next?.querySelector(`[data-act="${event.target.dataset.act}"]`) ?? next?.querySelector("button"))?.focus();
    } else if (finding && (event.key === "Delete" || event.key === "Backspace")) patient.remove(finding);
    else return;
    event.preventDefault();
  });
  $("about").addEventListener("submit", (event) => event.preventDefault());
  $("about").addEventListener("input", (event) => {
    const { name, value, tagName } = event.target;
    if (tagName === "SELECT") patient.setAbout(name, value);
  });
  $("about").addEventListener("change", (event) => {
    const { name, value, tagName } = event.target;
    if (tagName === "INPUT") patient.setAbout(name, value);
  });
  $("title").addEventListener("input", () => patient.setTitle($("title").value));
}
