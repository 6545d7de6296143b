// A question: what is asked, the steps while they happen, and the answer as the report shows it.
import { $, api, json, say, tell } from "./shared.js";
import * as patient from "./patient.js";

let asking = null;

/** Show a result: the server makes its page, with every name escaped; no script in it would run here. */
async function show(document_) {
  const { html } = await json("page", { document: document_, part: true });
  const parsed = new DOMParser().parseFromString(html, "text/html");
  $("result").replaceChildren(...parsed.body.childNodes);
  for (const root of $("result").querySelectorAll(".kgdx-report")) window.kgdxReport(root);
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

function begin() {
  tell();
  $("result").replaceChildren();
  $("steps").replaceChildren();
  $("said").textContent = "";
  $("question-form").querySelector(".main").disabled = true;
  $("stop").hidden = false;
  $("steps-box").hidden = false;
  $("steps-box").open = true;
  $("asking").textContent = say("asking");
}

async function ask(event) {
  event.preventDefault();
  const about = $("with-patient").checked;
  if (about && patient.isEmpty()) return tell(say("empty"));
  begin();
  asking = new AbortController();
  const step = window.kgdxSteps($("steps"), say);
  try {
    const started = performance.now();
    const request = { ...(about ? patient.request() : {}), question: $("question").value, policy: $("answering").value };
    const answer = await api("ask/events", request, asking.signal);
    for await (const { name, data } of events(answer.body)) {
      if (name === "step") step(data);
      else if (name === "text") $("said").textContent += data;
      else if (name === "problem") throw data;
      else if (name === "answer") {
        await show(data);
        $("said").textContent = "";
        $("steps-box").open = false;
        tell(...(data.issues ?? []).filter((issue) => issue.level === "error").flatMap((issue) => [issue.message, issue.remedy]));
        $("asking").textContent = say("answered", { s: ((performance.now() - started) / 1000).toFixed(1) });
        ($("trouble").hidden ? $("asking") : $("trouble")).scrollIntoView();
      }
    }
  } catch (problem) {
    $("asking").textContent = problem.name === "AbortError" ? say("stopped") : "";
    if (problem.name !== "AbortError") tell(problem.detail || String(problem), problem.hint);
  } finally {
    asking = null;
    $("question-form").querySelector(".main").disabled = false;
    $("stop").hidden = true;
  }
}

export function openAsk() {
  $("question-form").addEventListener("submit", ask);
  $("stop").addEventListener("click", () => asking?.abort());
}
