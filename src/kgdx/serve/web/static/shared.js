// What every part of the page uses: its words in two languages, elements, and the server.
export const $ = (id) => document.getElementById(id);
const words = window.kgdxWords;
const translated = [];
let language = navigator.language.startsWith("zh") ? "zh" : "en";
let chosen = false; // whether a person has chosen the language
let token = ""; // kept in memory alone
let known = {}; // what words may name, such as the language model

/** The words of a key in the page's language; what is in braces is replaced. */
export const say = (key, values = {}) =>
  (words[language][key] ?? "").replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? known[name] ?? ""));
export const chinese = () => language === "zh";
export const number = (value) => value.toLocaleString(chinese() ? "zh-CN" : "en");

/** Call a function whenever the language changes. */
export const onLanguage = (listener) => translated.push(listener);

/** Put the page's own words in its language. */
export function translate(values) {
  known = { ...known, ...values };
  document.documentElement.lang = chinese() ? "zh-CN" : "en";
  for (const element of document.querySelectorAll("[data-say]")) element.textContent = say(element.dataset.say);
  for (const element of document.querySelectorAll("[data-say-label]")) element.setAttribute("aria-label", say(element.dataset.sayLabel));
  for (const element of document.querySelectorAll("[data-say-hint]")) element.placeholder = say(element.dataset.sayHint);
  $("language").textContent = say("other_language");
  $("language").lang = chinese() ? "en" : "zh-CN";
  for (const listener of translated) listener();
}

/** Speak the language that a person chose; or that of a text, as long as nobody has chosen. */
export function speak(wanted, byHand = false) {
  if (byHand) chosen = true;
  if (language === wanted || (chosen && !byHand)) return;
  language = wanted;
  translate();
}

/** An element with attributes and content; `on…` are listeners, text stays text. */
export function make(tag, attributes = {}, ...content) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value === "boolean") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...content.flat().filter((each) => each !== null && each !== undefined && each !== ""));
  return element;
}

/** Ask the server; what it refuses is thrown as its problem document, a server that is away as `away`. */
export async function api(path, body, signal) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const options = { headers, signal, cache: "no-store", credentials: "omit" };
  if (body) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    headers["Content-Type"] = "application/json";
  }
  let answer;
  try {
    answer = await fetch(`/api/v1/${path}`, options);
  } catch (error) {
    throw error.name === "AbortError" ? error : { away: true, detail: say("lost"), hint: say("lostHint") };
  }
  if (answer.ok) return answer;
  if (answer.status === 401) {
    $("token-form").hidden = false;
    $("token").focus();
  }
  const problem = await answer.json().catch(() => ({ detail: `${answer.status} ${answer.statusText}` }));
  throw { ...problem, away: answer.status === 503 };
}
export const json = async (path, body, signal) => (await api(path, body, signal)).json();
export const useToken = (given) => { token = given; };

/** Show what went wrong and what to do about it; without lines nothing is wrong any more. */
export function tell(...lines) {
  const parts = lines.filter(Boolean).map((line) => make("p", {}, line));
  $("trouble").replaceChildren(...parts);
  $("trouble").hidden = parts.length === 0;
}

/** Hand a file to whoever sits before the page. */
export function save(content, type, name) {
  const link = make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const PAGES = {
  PMID: (rest) => `https://pubmed.ncbi.nlm.nih.gov/${rest}/`,
  OMIM: (rest) => `https://omim.org/entry/${rest}`,
  ORPHA: (rest) => `https://www.orpha.net/en/disease/detail/${rest}`,
  HP: (rest) => `https://hpo.jax.org/browse/term/HP:${rest}`,
  MONDO: (rest) => `https://monarchinitiative.org/MONDO:${rest}`,
};
/** An id or an address, with a link to the page about it where there is one. */
export function identifier(id) {
  const [prefix, rest] = id.split(":", 2);
  const site = /^https?:\/\/(?:www\.)?([^/]+)/.exec(id)?.[1];
  const page = site ? id : /^\d+$/.test(rest || "") && PAGES[prefix]?.(rest);
  return page ? make("a", { href: page, rel: "noopener noreferrer", target: "_blank" }, site ?? id) : id === "unsourced" ? say("unsourced") : id;
}

const names = new Map(); // id of a phenotype → its names, as far as the server has told them
/** The name of a phenotype in the page's language, as far as it is known by now. */
export function named(id, name) {
  const known_ = names.get(id);
  return (chinese() && known_?.name_zh) || name || known_?.name || id;
}
/** Learn the names of phenotypes; whether there was anything to learn. */
export async function learn(ids) {
  const unknown = [...new Set(ids)].filter((id) => !names.has(id)).slice(0, 500);
  if (!unknown.length) return false;
  for (const id of unknown) names.set(id, null);
  try {
    for (const each of (await json("names", { ids: unknown })).names) names.set(each.id, each);
  } catch {
    for (const id of unknown) names.delete(id);
    return false;
  }
  return true;
}
