// The keys of the page, and what the graph holds and lacks.
import { $, json, make, number, say, tell } from "./shared.js";

let single = true; // whether single keys do something

function closing(dialog, ...content) {
  const close = make("button", { type: "button", class: "quiet-button", "aria-label": say("close"), onclick: () => dialog.close() }, "×");
  dialog.replaceChildren(close, ...content);
  if (!dialog.open) dialog.showModal();
}

/** List the keys. */
function showKeys() {
  const rows = ["/", "e", "n", "y", "x", "1–9", "c", "u", "p", "?", "Esc"].map((key) => make("tr", {}, make("th", { scope: "row" }, make("kbd", {}, key)), make("td", {}, say(`key_${key}`))));
  const box = make("input", { type: "checkbox" });
  box.checked = single;
  box.addEventListener("change", () => { single = box.checked; });
  closing($("keys-dialog"), make("h2", { id: "keys-title" }, say("keys")), make("table", {}, make("tbody", {}, rows)),
    make("p", { class: "quiet" }, say("keysMore")), make("label", { class: "check" }, box, ` ${say("singleKeys")}`));
}

/** Show what the graph holds, and what it lacks: what that costs, and the command that brings it. */
async function showGraph() {
  const title = () => make("h2", { id: "graph-title" }, say("graphHolds"));
  closing($("graph-dialog"), title(), make("p", { class: "quiet" }, say("looking")));
  let found;
  try {
    found = await json("sources");
  } catch (problem) {
    $("graph-dialog").close();
    return tell(problem.detail, problem.hint);
  }
  const holds = Object.entries(found.nodes).filter(([, n]) => n).map(([name, n]) => make("li", {}, `${number(n)} ${say(`node_${name}`) || name}`));
  const sources = found.sources.filter((each) => !each.id.startsWith("kgdx:")).map((each) => make("li", {}, make("b", {}, each.id), ` ${each.version ?? ""} `, make("small", {}, each.loaded === null ? "" : number(each.loaded))));
  const lacks = found.absent.map((each) => make("li", {}, make("span", {}, say(`lacks_${each.name}`) || each.worth), make("code", {}, each.command)));
  if ($("graph-dialog").open) closing($("graph-dialog"), title(),
    make("ul", { class: "counts" }, holds), make("details", {}, make("summary", {}, say("fromSources", { n: sources.length })), make("ul", { class: "plain" }, sources)),
    make("h3", {}, say(lacks.length ? "graphLacks" : "graphLacksNothing")), lacks.length ? make("p", { class: "quiet" }, say("graphLacksHelp")) : "", make("ul", { class: "lacks" }, lacks));
}

/** Let single keys do things: key → what it does. */
export function openDialogs(keys) {
  $("help").addEventListener("click", showKeys);
  $("about-graph").addEventListener("click", showGraph);
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  }
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]") || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    if (event.key === "?") showKeys();
    else if (single && keys(event.key, event.target)) event.preventDefault();
  });
}
