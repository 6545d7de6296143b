// A consultation: one question at a time. The server keeps nothing: the transcript goes along with each answer.
(() => {
  "use strict";
  const API = "/api/v1/";
  const KEPT = "kgdx-consultation"; // in this tab alone, so that a page that is loaded again goes on
  const $ = (id) => document.getElementById(id);
  const words = window.kgdxConsultWords;
  let language = navigator.language.startsWith("zh") ? "zh" : "en";
  let token = "";
  let now = null; // the consultation as the server last gave it
  let busy = false;

  const say = (key, values = {}) =>
    (words[language][key] ?? "").replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
  const percent = (share) =>
    share > 0 && share < 0.0005 ? "<0.1%" : `${(share * 100).toFixed(share >= 0.0995 || !share ? 0 : 1)}%`;

  /** Make an element with words in it; markup in them stays words. */
  function made(tag, text = "", name = "") {
    const element = document.createElement(tag);
    if (text) element.textContent = text;
    if (name) element.className = name;
    return element;
  }

  /** Ask the API; what it refuses is thrown as its problem document. */
  async function api(path, body) {
    const headers = { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    let answer;
    try {
      const options = { method: "POST", headers, body: JSON.stringify(body), cache: "no-store", credentials: "omit" };
      answer = await fetch(API + path, options);
    } catch {
      throw { detail: say("lost") };
    }
    if (answer.ok) return answer.json();
    if (answer.status === 401) {
      $("token-form").hidden = false;
      $("token").focus();
    }
    throw await answer.json().catch(() => ({ detail: `${answer.status} ${answer.statusText}` }));
  }

  function trouble(problem) {
    const lines = problem ? [problem.detail || String(problem), problem.hint].filter(Boolean) : [];
    $("trouble").replaceChildren(...lines.map((line) => made("p", line)));
    $("trouble").hidden = lines.length === 0;
  }

  /** Send something, and show what comes of it; one thing at a time. */
  async function send(path, body) {
    if (busy) return;
    busy = true;
    $("card").setAttribute("aria-busy", "true");
    try {
      now = await api(path, body);
      trouble(null);
      sessionStorage.setItem(KEPT, JSON.stringify(now.transcript));
      await show();
    } catch (problem) {
      trouble(problem);
    } finally {
      busy = false;
      $("card").removeAttribute("aria-busy");
    }
  }

  const answer = (given) =>
    send("consult/answer", { transcript: now.transcript, number: now.question?.number ?? null, speaks: language, ...given });

  async function show() {
    $("start").hidden = true;
    $("talk").hidden = false;
    showQuestion(now.question);
    showShares(now.differential);
    showRecord(now.record);
    showNotes();
    if (now.question) {
      $("result").replaceChildren();
      $("question").focus({ preventScroll: true });
    } else await showResult();
  }

  function showQuestion(question) {
    $("card").hidden = !question;
    if (!question) return;
    const official = question.label && question.label.toLowerCase() !== question.name.toLowerCase() ? question.label : "";
    $("number").textContent = say("number", { n: question.number });
    $("question").textContent = question.text;
    $("official").textContent = question.kind === "which" ? "" : official;
    $("answers").hidden = question.kind === "which" || question.kind === "open";
    $("which").hidden = question.kind !== "which";
    $("options").replaceChildren(...question.options.map(option));
    $("why").replaceChildren(...question.why.split("\n").map((line) => made("p", line)));
    $("own").value = "";
    $("words").querySelector("label").textContent = say(question.kind === "open" ? "ownOpen" : "own");
    $("back").disabled = !now.record.turns.some((turn) => turn.answer);
  }

  function option(each, place) {
    const item = made("li");
    const button = made("button", each.name);
    button.type = "button";
    button.dataset.id = each.id;
    button.setAttribute("aria-pressed", "false");
    if (place < 9) {
      const key = made("kbd", String(place + 1));
      key.setAttribute("aria-hidden", "true");
      button.append(" ", key);
    }
    button.addEventListener("click", () =>
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true")));
    item.append(button);
    return item;
  }

  /** Show the shares: rows that stay move from where they were. */
  function showShares(leads) {
    const most = Math.max(...leads.map((lead) => lead.share), 0.001);
    const before = new Map([...$("shares").children].map((row) => [row.dataset.id, row]));
    const rows = leads.map((lead) => {
      const row = before.get(lead.id) ?? made("li");
      if (!row.dataset.id) {
        const line = made("div", "", "line");
        line.append(made("span"), made("span"));
        const bar = made("div", "", "bar");
        bar.append(made("span"));
        row.append(line, bar);
        row.dataset.id = lead.id;
      }
      const [name, share] = row.querySelector(".line").children;
      name.textContent = lead.name;
      share.textContent = percent(lead.share);
      requestAnimationFrame(() => (row.querySelector(".bar span").style.width = `${(100 * lead.share) / most}%`));
      return row;
    });
    $("shares").replaceChildren(...(rows.length ? rows : [made("li", say("nothing"), "quiet")]));
  }

  function showRecord(record) {
    const known = record.findings.filter((finding) => finding.status !== "unknown");
    const rows = known.map((finding) => {
      const name = finding.name || finding.label || finding.id;
      const kind = finding.status === "absent" ? "absent" : finding.status === "present" ? "" : "other";
      const item = made("li", finding.status === "present" ? name : `${name} `, kind);
      if (finding.status !== "present") item.append(made("small", say(finding.status)));
      return item;
    });
    $("findings").replaceChildren(...(rows.length ? rows : [made("li", say("nothing"), "other")]));
    const turns = record.turns.filter((turn) => turn.answer).map((turn) => {
      const item = made("li", `${turn.name || turn.label || turn.text || say("openly")}${turn.kind === "which" ? ` (${say("which")})` : ""}: `);
      item.value = turn.number;
      item.append(made("strong", say(`a_${turn.answer}`)));
      if (turn.words) item.append(" ", made("small", `“${turn.words}”`));
      return item;
    });
    $("turns").replaceChildren(...turns);
  }

  function showNotes() {
    const asked = now.record.turns.filter((turn) => turn.answer).at(-1);
    const read = asked?.kind === "which" ? [] : now.heard.filter((finding) => finding.id !== asked?.term);
    const named = read.map((finding) => {
      const name = finding.name || finding.label;
      return finding.status === "absent" ? say("not", { name }) : name;
    });
    const notes = named.length ? [made("p", say("read", { findings: named.join(", ") }))] : [];
    if (now.unread) notes.push(made("p", say("noted")));
    for (const line of now.contradictions) notes.push(made("p", line, "contradiction"));
    $("notes").replaceChildren(...notes);
  }

  /** Show the ranking: the server makes its page, with every name escaped; no script in it would run here. */
  async function showResult() {
    const note = made("p", say(now.diagnosis ? "ended" : "unranked"));
    $("notes").append(note);
    if (!now.diagnosis) return;
    const { html } = await api("page", { document: now.diagnosis, part: true });
    const parsed = new DOMParser().parseFromString(html, "text/html");
    $("result").replaceChildren(...parsed.body.childNodes);
    for (const root of $("result").querySelectorAll(".kgdx-report")) window.kgdxReport(root);
    $("result").focus({ preventScroll: true });
  }

  function translate() {
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
    for (const element of document.querySelectorAll("[data-say]")) element.textContent = say(element.dataset.say);
    $("language").textContent = say("other");
    $("language").lang = language === "zh" ? "en" : "zh-CN";
  }

  const chosen = () => [...$("options").querySelectorAll('[aria-pressed="true"]')].map((button) => button.dataset.id);
  const unknown = () => answer({ status: "unknown" });
  function why() {
    $("why").hidden = !$("why").hidden;
    $("why-button").setAttribute("aria-expanded", String(!$("why").hidden));
  }

  const byKey = {
    y: () => now.question.kind !== "open" && now.question.kind !== "which" && answer({ status: "present" }),
    n: () => now.question.kind !== "open" && now.question.kind !== "which" && answer({ status: "absent" }),
    "?": unknown, "？": unknown, w: why,
    s: () => answer({ what: "skip" }),
    b: () => $("back").disabled || answer({ what: "back", number: null }),
    f: () => answer({ what: "finish" }),
  };

  document.addEventListener("keydown", (event) => {
    if (!now?.question || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input, textarea, select")) return;
    const place = Number(event.key) - 1;
    const button = now.question.kind === "which" && place >= 0 ? $("options").querySelectorAll("button")[place] : null;
    if (button) button.click();
    else if (byKey[event.key.toLowerCase()]) byKey[event.key.toLowerCase()]();
    else return;
    event.preventDefault();
  });

  for (const button of $("answers").querySelectorAll("button"))
    button.addEventListener("click", () => answer({ status: button.dataset.status }));
  $("choose").addEventListener("click", () => {
    const named = chosen();
    if (named.length) answer({ named });
    else trouble({ detail: say("pick") });
  });
  $("none").addEventListener("click", unknown);
  $("words").addEventListener("submit", (event) => {
    event.preventDefault();
    if ($("own").value.trim()) answer({ text: $("own").value });
  });
  $("why-button").addEventListener("click", why);
  $("back").addEventListener("click", byKey.b);
  $("skip").addEventListener("click", byKey.s);
  $("finish").addEventListener("click", byKey.f);
  $("start").addEventListener("submit", (event) => {
    event.preventDefault();
    send("consult", { text: $("text").value, speaks: language });
  });
  $("language").addEventListener("click", () => {
    language = language === "zh" ? "en" : "zh";
    translate();
    if (now) answer({ what: "show", number: null });
  });
  $("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    token = $("token").value;
    $("token-form").hidden = true;
    trouble(null);
  });
  $("fresh").addEventListener("click", () => {
    if (now.question && !window.confirm(say("anew"))) return;
    sessionStorage.removeItem(KEPT);
    now = null;
    $("talk").hidden = true;
    $("start").hidden = false;
    $("text").value = "";
    $("text").focus();
  });
  $("print").addEventListener("click", () => window.print());
  $("save").addEventListener("click", () => {
    const link = made("a");
    const content = JSON.stringify({ transcript: now.transcript, record: now.record }, null, 1);
    link.href = URL.createObjectURL(new Blob([content], { type: "application/json" }));
    link.download = "consultation.json";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  $("open").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", async () => {
    try {
      const { transcript } = JSON.parse(await $("file").files[0].text());
      if (!Array.isArray(transcript)) throw new TypeError();
      goOn(transcript);
    } catch {
      trouble({ detail: say("noTranscript") });
    }
    $("file").value = "";
  });

  const goOn = (transcript) => send("consult/answer", { transcript, what: "show", speaks: language });
  translate();
  const kept = sessionStorage.getItem(KEPT);
  if (kept) goOn(JSON.parse(kept));
})();
