// A combobox with a list (WAI-ARIA APG): suggests while one types, chooses by keyboard, mouse or touch.
"use strict";
window.kgdxCombobox = (input, list, { least, suggest, choose, tell }) => {
  const REST = 120; // ms without a key before the server is asked
  let options = [];
  let active = -1;
  let timer = 0;
  let asked = 0;

  const close = () => {
    options = [];
    active = -1;
    list.hidden = true;
    list.replaceChildren();
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const mark = (at) => {
    active = at;
    for (const [number, item] of [...list.children].entries()) item.setAttribute("aria-selected", String(number === at));
    if (at < 0) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", list.children[at].id);
    list.children[at].scrollIntoView({ block: "nearest" });
  };
  const take = (at) => {
    const chosen = options[at];
    close();
    input.value = "";
    choose(chosen);
  };
  const show = (found) => {
    close();
    options = found;
    for (const [number, option] of found.entries()) {
      const item = document.createElement("li");
      item.id = `${list.id}-${number}`;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      item.append(option.shown);
      const also = document.createElement("small");
      also.textContent = [option.id, option.also].filter(Boolean).join(" · ");
      item.append(also);
      item.addEventListener("mousedown", (event) => event.preventDefault()); // the input keeps the focus
      item.addEventListener("click", () => take(number));
      list.append(item);
    }
    list.hidden = found.length === 0;
    input.setAttribute("aria-expanded", String(found.length > 0));
    tell(found.length);
  };
  const look = async () => {
    const typed = input.value.trim();
    const number = ++asked;
    if (typed.length < least(typed)) return close();
    try {
      const found = await suggest(typed);
      if (number === asked && input.value.trim() === typed) show(found);
    } catch {
      close(); // what went wrong is told where the request is made
    }
  };

  input.addEventListener("input", (event) => {
    clearTimeout(timer);
    if (!event.isComposing) timer = setTimeout(look, REST);
  });
  input.addEventListener("compositionend", () => { timer = setTimeout(look, REST); });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const last = options.length - 1;
    if (event.key === "ArrowDown" && last < 0) look();
    else if (event.key === "ArrowDown") mark(active >= last ? 0 : active + 1);
    else if (event.key === "ArrowUp" && last >= 0) mark(active <= 0 ? last : active - 1);
    else if (event.key === "Enter" && last >= 0) take(Math.max(active, 0));
    else if (event.key === "Enter" && input.value.trim()) look();
    else if (event.key === "Escape" && last >= 0) close();
    else return;
    event.preventDefault();
  });
};
