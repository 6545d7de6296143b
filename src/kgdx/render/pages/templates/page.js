// Brings a page to life: choose a disease, look into its graph. Only text is ever written, never markup.
(() => {
  "use strict";
  const MOST_TOLD = 8; // paths that the panel under a graph lists
  const CLOSEST = 6; // how far a graph can be magnified
  const PHONE = window.matchMedia("(max-width: 640px)"); // as in the stylesheet

  const ROLES = {
    patient: "patient",
    finding: "finding",
    exact: "finding, annotated as it is",
    typical: "typical, not mentioned",
    ancestor: "shared ancestor",
    annotation: "annotated term",
    fact: "fact of the graph",
    disease: "disease",
  };

  const all = (root, selector) => Array.from(root.querySelectorAll(selector));
  const made = (tag, text, className) => {
    const element = document.createElement(tag);
    if (text) element.textContent = text;
    if (className) element.className = className;
    return element;
  };

  /** What a box is in the graph; a line has no such role. */
  const role = (item) => (item.classList.contains("box") ? ROLES[item.classList[1]] : "");

  /** The ranked list shows its first entries until asked for all. */
  function ranking(root) {
    const button = root.querySelector(".rest .all");
    const list = root.querySelector(".ranking");
    if (!button || !list) return;
    const words = button.textContent;
    button.addEventListener("click", () => {
      const open = list.classList.toggle("open");
      button.setAttribute("aria-expanded", String(open));
      button.textContent = open ? "Show the first alone" : words;
      root.querySelector(".rest .paper").hidden = open;
    });
  }

  /** One explained disease at a time, chosen in the list, by the arrows, or by the address. */
  function chooser(root) {
    const articles = all(root, "article");
    const box = root.querySelector(".chooser");
    const show = (id, move) => {
      const there = articles.some((article) => article.id === id);
      for (const article of articles) {
        article.hidden = there && article.id !== id;
        if (!article.hidden) graphs(article);
      }
      if (box) box.querySelector("select").value = there ? id : "";
      const target = articles.find((article) => article.id === id);
      if (target && move) {
        target.focus({ preventScroll: true });
        target.scrollIntoView();
      }
    };
    if (box) {
      const select = box.querySelector("select");
      box.hidden = false;
      select.addEventListener("change", () => show(select.value, false));
      for (const button of all(box, "button")) {
        button.addEventListener("click", () => {
          const last = articles.length - 1;
          const at = articles.findIndex((article) => article.id === select.value);
          const next = at < 0 ? 0 : at + Number(button.dataset.step);
          show(articles[next < 0 ? last : next > last ? 0 : next].id, false);
        });
      }
    }
    for (const link of all(root, "a.choose")) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        show(link.hash.slice(1), true);
      });
    }
    const asked = location.hash.slice(1);
    const known = articles.some((article) => article.id === asked);
    if (articles.length) show(known ? asked : articles[0].id, known);
  }

  const alive = new WeakSet();

  /** The graphs that can be seen now are brought to life; others when they come into sight, since it takes a while. */
  function graphs(root) {
    for (const figure of all(root, "figure.evidence")) {
      if (alive.has(figure) || figure.closest("article[hidden]")) continue;
      alive.add(figure);
      graph(figure);
    }
  }

  /** A graph: its drawings for wide and narrow screens, the filter by kind, and the panel that tells of paths. */
  function graph(figure) {
    const canvas = figure.querySelector(".canvas");
    if (!canvas) return;
    const panel = figure.querySelector(".details");
    const rows = new Map(all(figure, "tr[data-path]").map((row) => [row.dataset.path, row]));
    const hidden = new Set();
    const advice = panel.textContent;
    const numbers = (item) => item.dataset.paths.split(" ").filter((number) => !hidden.has(rows.get(number).className));

    const tell = (item) => {
      panel.replaceChildren();
      if (!item) return panel.append(advice);
      const head = made("p");
      head.append(made("b", item.dataset.name));
      if (role(item)) head.append(" ", made("span", `${role(item)} ${item.dataset.id || ""}`, "quiet"));
      const list = made("ul");
      const mine = numbers(item);
      for (const number of mine.slice(0, MOST_TOLD)) {
        const [says, way, often, cited] = rows.get(number).cells;
        const entry = made("li", "", `way ${rows.get(number).className}`);
        entry.append(made("span", says.textContent, "says"), ": ", ...way.cloneNode(true).childNodes, ` (${often.textContent}`);
        if (cited.childNodes.length) entry.append("; ", ...cited.cloneNode(true).childNodes);
        entry.append(")");
        list.append(entry);
      }
      panel.append(head, list);
      if (mine.length > MOST_TOLD) panel.append(made("p", `and ${mine.length - MOST_TOLD} more in the table below`, "quiet"));
    };

    const drawings = new Map();
    const wake = () => {
      const svg = canvas.querySelector(PHONE.matches ? ".narrow" : ".wide");
      if (drawings.has(svg)) return;
      drawings.set(svg, drawing(svg, { numbers, tell }));
      if (hidden.size) drawings.get(svg).filter();
    };
    wake();
    PHONE.addEventListener("change", wake);
    for (const box of all(figure, ".kinds input")) {
      box.addEventListener("change", () => {
        if (box.checked) hidden.delete(box.name);
        else hidden.add(box.name);
        for (const row of rows.values()) row.hidden = hidden.has(row.className);
        for (const each of drawings.values()) each.filter();
      });
    }
    for (const button of all(figure, ".zoom button")) {
      button.addEventListener("click", () => {
        const factor = { in: 1.5, out: 1 / 1.5, fit: 0 }[button.dataset.zoom];
        for (const each of drawings.values()) each.zoom(factor);
      });
    }
  }

  /** One drawing: light up what belongs together, move and magnify, walk with the keyboard. */
  function drawing(svg, { numbers, tell }) {
    const boxes = all(svg, ".box");
    const items = [...boxes, ...all(svg, ".line")];
    const whole = { x: 0, y: 0, width: svg.viewBox.baseVal.width, height: svg.viewBox.baseVal.height };
    const widen = () => {
      for (const line of items.slice(boxes.length)) {
        const reach = line.firstElementChild.cloneNode();
        reach.setAttribute("class", "reach"); // a thin line is hard to hit
        line.prepend(reach);
      }
    };
    if (PHONE.matches) widen();
    else svg.addEventListener("pointerenter", widen, { once: true });
    for (const box of boxes) {
      const notes = all(box, ".small").map((text) => text.textContent);
      const words = [box.dataset.name, role(box), `paths: ${numbers(box).length}`, ...notes];
      const attributes = { role: "button", "aria-label": words.join(", "), "aria-pressed": "false", tabindex: "-1" };
      for (const [name, value] of Object.entries(attributes)) box.setAttribute(name, value);
    }
    if (boxes.length) boxes[0].setAttribute("tabindex", "0");
    let base = { ...whole };
    let view = { ...whole };
    let pinned = null;

    const place = (box) => {
      const rect = box.querySelector("rect");
      const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(rect.getAttribute(name)));
      return { x: x + width / 2, y: y + height / 2, top: y, bottom: y + height };
    };
    const look = () => svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
    const keep = () => {
      view.x = Math.min(Math.max(view.x, base.x), base.x + base.width - view.width);
      view.y = Math.min(Math.max(view.y, base.y), base.y + base.height - view.height);
      svg.classList.toggle("zoomed", view.width < base.width - 0.5);
      look();
    };
    const zoom = (factor, at) => {
      if (!factor) view = { ...base };
      else {
        const width = Math.min(base.width, Math.max(base.width / CLOSEST, view.width / factor));
        const share = width / view.width;
        const centre = at || { x: view.x + view.width / 2, y: view.y + view.height / 2 };
        view = {
          x: centre.x - (centre.x - view.x) * share,
          y: centre.y - (centre.y - view.y) * share,
          width,
          height: view.height * share,
        };
      }
      keep();
    };
    const filter = () => {
      for (const item of items) item.classList.toggle("off", numbers(item).length === 0);
      const shown = boxes.filter((box) => !box.classList.contains("off")).map(place);
      const top = Math.min(...shown.map((each) => each.top)) - 22;
      const bottom = Math.max(...shown.map((each) => each.bottom)) + 4;
      for (const heading of all(svg, ".heading")) {
        const kind = heading.classList[1];
        heading.classList.toggle("off", !boxes.some((box) => box.classList.contains(kind) && !box.classList.contains("off")));
      }
      base = shown.length ? { ...whole, y: Math.max(0, top), height: bottom - Math.max(0, top) } : { ...whole };
      svg.setAttribute("height", base.height); // with the width, it gives the proportions
      if (pinned && pinned.classList.contains("off")) pin(null);
      zoom(0);
    };

    const light = (item) => {
      const lit = new Set(item ? numbers(item) : []);
      svg.classList.toggle("lit", Boolean(item));
      for (const each of items) each.classList.toggle("on", each === item || numbers(each).some((number) => lit.has(number)));
      tell(item);
    };
    const pin = (item) => {
      if (pinned) pinned.setAttribute("aria-pressed", "false");
      pinned = item === pinned ? null : item;
      if (pinned && pinned.hasAttribute("aria-pressed")) pinned.setAttribute("aria-pressed", "true");
      light(pinned);
    };
    const go = (box) => {
      for (const each of boxes) each.setAttribute("tabindex", each === box ? "0" : "-1");
      box.focus({ preventScroll: view.width < base.width });
    };
    const step = (from, dx, dy) => {
      const here = place(from);
      let best = null;
      for (const box of boxes) {
        if (box === from || box.classList.contains("off")) continue;
        const there = place(box);
        const along = (there.x - here.x) * dx + (there.y - here.y) * dy;
        const across = Math.abs((there.x - here.x) * dy) + Math.abs((there.y - here.y) * dx);
        if (along > 4 && (!best || along + 2 * across < best.far)) best = { box, far: along + 2 * across };
      }
      if (best) go(best.box);
    };

    let under = null;
    const pointed = (event) => {
      const item = event.type === "pointerleave" ? null : event.target.closest(".box, .line");
      if (event.pointerType !== "mouse" || pinned || item === under) return;
      under = item;
      light(item);
    };
    svg.addEventListener("pointerover", pointed);
    svg.addEventListener("pointerleave", pointed);
    svg.addEventListener("click", (event) => {
      const item = event.target.closest(".box, .line");
      if (item && moved < 5) pin(item);
    });
    svg.addEventListener("focusin", ({ target }) => target.matches(".box:focus-visible") && !pinned && light(target));
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const keys = { "+": 1.5, "=": 1.5, "-": 1 / 1.5, 0: 0 };
    svg.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const box = event.target.closest(".box");
      if (event.key in arrows && box) step(box, ...arrows[event.key]);
      else if ((event.key === "Enter" || event.key === " ") && box) pin(box);
      else if (event.key === "Escape") pin(null);
      else if (event.key in keys) zoom(keys[event.key]);
      else return;
      event.preventDefault();
    });

    const point = (event) => {
      const frame = svg.getBoundingClientRect();
      return {
        x: view.x + ((event.clientX - frame.left) / frame.width) * view.width,
        y: view.y + ((event.clientY - frame.top) / frame.height) * view.height,
      };
    };
    const touching = new Map();
    let moved = 0;
    let apart = 0;
    svg.addEventListener("pointerdown", (event) => {
      if (!touching.size) moved = 0;
      touching.set(event.pointerId, event);
      apart = 0;
    });
    svg.addEventListener("pointermove", (event) => {
      const before = touching.get(event.pointerId);
      if (!before) return;
      touching.set(event.pointerId, event);
      const [one, other] = [...touching.values()];
      if (other) {
        const far = Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
        const middle = { clientX: (one.clientX + other.clientX) / 2, clientY: (one.clientY + other.clientY) / 2 };
        if (apart) zoom(far / apart, point(middle));
        apart = far;
        moved = 5;
      } else if (view.width < base.width - 0.5) {
        const scale = view.width / svg.getBoundingClientRect().width;
        moved += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
        view.x -= (event.clientX - before.clientX) * scale;
        view.y -= (event.clientY - before.clientY) * scale;
        keep();
      }
    });
    for (const name of ["pointerup", "pointercancel", "pointerleave"]) {
      svg.addEventListener(name, (event) => touching.delete(event.pointerId));
    }
    svg.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return; // the wheel alone scrolls the page
        event.preventDefault();
        zoom(Math.exp(-event.deltaY / 200), point(event));
      },
      { passive: false },
    );
    return { zoom, filter };
  }

  /** A mark in an answer leads to its evidence, unfolded. */
  function marks(root) {
    for (const mark of all(root, "a.mark")) {
      mark.addEventListener("click", () => {
        const item = all(root, ".items li").find((each) => each.id === mark.hash.slice(1));
        const folded = item && item.closest("details");
        if (folded) folded.open = true;
        for (const each of all(root, ".items .called")) each.classList.remove("called");
        if (item) item.classList.add("called");
      });
    }
  }

  /** What is folded is printed unfolded. */
  function printing(root) {
    let opened = [];
    window.addEventListener("beforeprint", () => {
      opened = all(root, "details:not([open])");
      for (const each of opened) each.open = true;
    });
    window.addEventListener("afterprint", () => {
      for (const each of opened) each.open = false;
    });
  }

  function enhance(root) {
    root.classList.add("live");
    ranking(root);
    chooser(root);
    graphs(root);
    marks(root);
    printing(root);
  }

  window.kgdxReport = enhance;
  for (const root of all(document, ".kgdx-report")) enhance(root);
})();
