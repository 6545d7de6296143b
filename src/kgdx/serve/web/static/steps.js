// What is done for a question, told while it happens: rounds, the actions of each, and what came back.
"use strict";
window.kgdxSteps = (list, say) => {
  let action = null; // the line of the action that is at work
  let planned = ""; // what the model read and wrote for the plan that comes next
  const HIDDEN = new Set(["limit", "digest", "characters", "strict", "language", "mesh", "pubmed", "min_match_count"]);

  const line = (kind, words, more = "") => {
    const item = document.createElement("li");
    item.className = kind;
    item.append(words);
    if (more) {
      const small = document.createElement("small");
      small.textContent = ` ${more}`;
      item.append(small);
    }
    list.append(item);
    return item;
  };
  /** Names as they are; of ids only how many. */
  const told = (values) => {
    const ids = values.filter((value) => /^[A-Z][\w.]*:\S+$/i.test(value));
    return ids.length > 1 ? say("ids", { n: ids.length }) : values.join(", ");
  };
  const given = (parameters) =>
    Object.entries(parameters)
      .filter(([name, value]) => !HIDDEN.has(name) && value !== null && typeof value !== "boolean")
      .map(([, value]) => (Array.isArray(value) ? told(value.map(String)) : String(value)))
      .filter(Boolean)
      .join(" · ")
      .slice(0, 300);
  const rows = (n) => say(n === 1 ? "row" : "rows", { n });
  const came = (words) => {
    if (!action || action.querySelector(".came")) return; // the first look-up is what the action is for
    const small = document.createElement("small");
    small.className = "came";
    small.textContent = ` → ${words}`;
    action.append(small);
  };

  const QUIET = new Set(["ask_model", "read_plan", "open_sources"]); // their results tell more

  return (segment) => {
    const { author, kind, name, data } = segment;
    if (kind === "wish") {
      if (name === "remark") line("error", data.text);
      else if (!QUIET.has(name)) action = line("action", say(`action_${name}`) || name, given(data));
    } else if (kind === "error") {
      line("error", data.hint ? `${data.message}: ${data.hint}` : data.message);
    } else if (kind === "result" && author === "model") {
      const tokens = say("tokens", { model: name, read: data.prompt_tokens ?? "?", written: data.completion_tokens ?? "?" });
      if (data.prompt.startsWith("plan@")) planned = tokens;
      else line("model", say("modelSaid", { model: name }), tokens);
    } else if (kind === "result" && name === "read_plan") {
      const { round, ended, actions } = data.artifact;
      line("round", say(ended ? "enough" : actions.length ? "round" : "noPlan", { n: round }), planned);
      planned = "";
    } else if (kind === "result") {
      const query = (segment.operations || []).find((each) => each.kind === "query");
      if (query) came(rows(query.rows));
    }
  };
};
