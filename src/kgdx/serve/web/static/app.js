// The page: a patient or a question goes to the API, and what comes back is shown as the report shows it.
(() => {
  "use strict";
  const API = "/api/v1/";
  const EXPLAINED = 3; // for how many diseases evidence is asked for
  const $ = (id) => document.getElementById(id);
  const words = window.kgdxWords;
  const chosen = []; // findings: {id, name, absent}
  let language = navigator.language.startsWith("zh") ? "zh" : "en";
  let token = ""; // kept in memory alone
  let model = null;
  let graph = null; // what is served, null while it is not there
  let latest = null; // the document that is shown
  let asking = null;

  const say = (key, values = {}) =>
    (words[language][key] ?? "").replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));

  /** Ask the API; what it refuses is thrown as its problem document. */
  async function api(path, body, signal) {
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    const options = { headers, signal, cache: "no-store", credentials: "omit" };
    if (body) {
      options.method = "POST";
      options.body = JSON.stringify(body);
      headers["Content-Type"] = "application/json";
    }
    let answer;
    try {
      answer = await fetch(API + path, options);
    } catch (error) {
      throw error.name === "AbortError" ? error : { detail: say("lost") };
    }
    if (answer.ok) return answer;
    if (answer.status === 401) {
      $("token-form").hidden = false;
      $("token").focus();
    }
    throw await answer.json().catch(() => ({ detail: `${answer.status} ${answer.statusText}` }));
  }

  /** Show what went wrong and what to do about it; nothing clears it. */
  function tell(...lines) {
    const parts = lines.filter(Boolean).map((line) => {
      const part = document.createElement("p");
      part.textContent = line;
      return part;
    });
    $("trouble").replaceChildren(...parts);
    $("trouble").hidden = parts.length === 0;
  }

  function trouble(problem) {
    $("progress").textContent = "";
    if (!problem) return tell();
    tell(problem.detail || String(problem), problem.hint);
    $("trouble").scrollIntoView({ block: "nearest" });
  }

  function translate() {
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
    for (const element of document.querySelectorAll("[data-say]")) element.textContent = say(element.dataset.say, { model });
    $("language").textContent = say("other_language");
    $("language").lang = language === "zh" ? "en" : "zh-CN";
    $("state").textContent = graph ? say("ready", { date: graph.slice(0, 10) }) : say("unready");
    showChosen();
  }

  function showChosen() {
    const items = chosen.map((finding) => {
      const item = document.createElement("li");
      item.classList.toggle("absent", finding.absent);
      const name = document.createElement("span");
      name.textContent = finding.name;
      const status = say(finding.absent ? "absent" : "present");
      const turn = document.createElement("button");
      turn.type = "button";
      turn.textContent = status;
      turn.setAttribute("aria-label", say("turn", { name: finding.name, status }));
      turn.addEventListener("click", () => {
        finding.absent = !finding.absent;
        showChosen();
        $("chosen-findings").children[chosen.indexOf(finding)].querySelector("button").focus();
      });
      const remove = document.createElement("button");
      remove.type = "button";
      remove.textContent = "×";
      remove.setAttribute("aria-label", say("remove", { name: finding.name }));
      remove.addEventListener("click", () => {
        chosen.splice(chosen.indexOf(finding), 1);
        showChosen();
        $("term").focus();
      });
      item.append(name, turn, remove);
      return item;
    });
    $("chosen-findings").replaceChildren(...items);
  }

  const patient = () => ({
    text: $("text").value,
    observed: chosen.filter((finding) => !finding.absent).map((finding) => finding.id),
    excluded: chosen.filter((finding) => finding.absent).map((finding) => finding.id),
    sex: $("sex").value,
    age: $("age").value.trim() || null,
    onset: $("onset").value || null,
    inheritance: $("inheritance").value || null,
    consanguineous: $("consanguineous").checked || null,
    genes: $("genes").value.split(/[\s,;，、；]+/).filter(Boolean),
  });
  const isEmpty = (case_) => !case_.text.trim() && !case_.observed.length && !case_.excluded.length;

  /** Show a result: the server makes its page, with every name escaped; no script in it would run here. */
  async function show(document_) {
    const { html } = await (await api("page", { document: document_, part: true })).json();
    const parsed = new DOMParser().parseFromString(html, "text/html");
    $("result").replaceChildren(...parsed.body.childNodes);
    for (const root of $("result").querySelectorAll(".kgdx-report")) window.kgdxReport(root);
    latest = document_;
    $("result-actions").hidden = false;
  }

  function clearResult() {
    trouble(null);
    latest = null;
    $("result").replaceChildren();
    $("result-actions").hidden = true;
    $("steps-box").hidden = true;
    $("steps").replaceChildren();
    $("said").textContent = "";
  }

  async function diagnose(event) {
    event.preventDefault();
    clearResult();
    const given = patient();
    if (isEmpty(given)) return trouble({ detail: say("empty") });
    const button = $("patient").querySelector(".main");
    button.disabled = true;
    $("progress").textContent = say("working");
    try {
      const started = performance.now();
      const found = await (await api("diagnose", { ...given, explain: EXPLAINED })).json();
      const ms = Math.round(performance.now() - started);
      await show(found);
      $("progress").textContent = say("done", { n: found.n_candidates.toLocaleString(), ms });
      $("progress").scrollIntoView();
    } catch (problem) {
      trouble(problem);
    } finally {
      button.disabled = false;
    }
  }

  /** Read server-sent events from a stream; each has a name and JSON. */
  async function* events(stream) {
    const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value;
      const parts = rest.split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const lines = new Map(part.split("\n").map((line) => [line.split(":", 1)[0], line.slice(line.indexOf(":") + 2)]));
        if (lines.has("event")) yield { name: lines.get("event"), data: JSON.parse(lines.get("data")) };
      }
    }
  }

  async function ask(event) {
    event.preventDefault();
    clearResult();
    const given = $("with-patient").checked ? patient() : {};
    if ($("with-patient").checked && isEmpty(given)) return trouble({ detail: say("empty") });
    asking = new AbortController();
    const button = $("question-form").querySelector(".main");
    button.disabled = true;
    $("stop").hidden = false;
    $("steps-box").hidden = false;
    $("steps-box").open = true;
    $("progress").textContent = say("asking");
    const step = window.kgdxSteps($("steps"), say);
    try {
      const started = performance.now();
      const request = { ...given, question: $("question").value, policy: $("planner").checked ? "planner" : "rules" };
      const answer = await api("ask/events", request, asking.signal);
      for await (const { name, data } of events(answer.body)) {
        if (name === "step") step(data);
        else if (name === "text") $("said").textContent += data;
        else if (name === "problem") throw data;
        else if (name === "answer") {
          await show(data);
          $("said").textContent = "";
          $("steps-box").open = false;
          tell(...data.issues.filter((issue) => issue.level === "error").flatMap((issue) => [issue.message, issue.remedy]));
          $("progress").textContent = say("answered", { s: ((performance.now() - started) / 1000).toFixed(1) });
          ($("trouble").hidden ? $("progress") : $("trouble")).scrollIntoView();
        }
      }
    } catch (problem) {
      if (problem.name === "AbortError") $("progress").textContent = say("stopped");
      else trouble(problem);
    } finally {
      asking = null;
      button.disabled = false;
      $("stop").hidden = true;
    }
  }

  async function download() {
    try {
      const { html } = await (await api("page", { document: latest, part: false })).json();
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([html], { type: "text/html" }));
      link.download = `${latest.id.replace(/[^\w-]+/g, "-")}.html`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    } catch (problem) {
      trouble(problem);
    }
  }

  async function about() {
    try {
      const found = await (await api("about")).json();
      graph = found.created;
      model = found.model;
      $("planner").disabled = !model;
      $("planner-words").dataset.say = model ? "planner" : "noModel";
      $("token-form").hidden = true;
      if (!graph) setTimeout(about, 1000); // the workers are starting
      trouble(null);
    } catch (problem) {
      graph = null;
      if (problem.status !== 401) trouble(problem);
    }
    translate();
  }

  /** An entry under the name by which it is asked for, where that is in Chinese; otherwise under its own. */
  function shown(entry) {
    const matched = entry.matched === entry.name ? "" : entry.matched;
    return /\p{Script=Han}/u.test(matched)
      ? { id: entry.id, shown: matched, also: entry.name }
      : { id: entry.id, shown: entry.name, also: matched };
  }

  window.kgdxCombobox($("term"), $("terms"), {
    least: (typed) => (/[^\u0000-\u024f]/.test(typed) ? 1 : 2),
    suggest: async (prefix) => {
      try {
        return (await (await api("terms", { prefix, kinds: ["Phenotype"], limit: 8 })).json()).terms.map(shown);
      } catch (problem) {
        trouble(problem);
        throw problem;
      }
    },
    choose: (entry) => {
      if (!chosen.some((finding) => finding.id === entry.id)) chosen.push({ id: entry.id, name: entry.shown, absent: false });
      $("term-status").textContent = "";
      showChosen();
    },
    tell: (n) => ($("term-status").textContent = n ? say("found", { n }) : say("none")),
  });
  $("patient").addEventListener("submit", diagnose);
  $("patient").addEventListener("reset", () => {
    chosen.length = 0;
    $("term-status").textContent = "";
    showChosen();
    clearResult();
  });
  $("example").addEventListener("click", () => {
    $("text").value = say("exampleText");
    $("sex").value = "MALE";
    $("age").value = "12";
    if (!$("question").value) $("question").value = say("exampleQuestion");
  });
  $("question-form").addEventListener("submit", ask);
  $("stop").addEventListener("click", () => asking && asking.abort());
  $("download").addEventListener("click", download);
  $("language").addEventListener("click", () => {
    language = language === "zh" ? "en" : "zh";
    translate();
  });
  $("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    token = $("token").value.trim();
    $("token").value = "";
    about();
  });
  translate();
  about();
})();
