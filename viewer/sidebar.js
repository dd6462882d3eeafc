// The filters beside every tab. Their elements live as long as the page: what is offered changes in place, so that a
// choice costs what it changes, and focus and scrolling stay where they are.
import { h, keeper, setChildren } from "./dom.js";
import { formatCount, shown } from "./format.js";
import { kDimensions } from "./model.js";

const kOptionsMax = 300;

/** {element, update(ctx)}: the sidebar, and what makes it show the filters of a state. */
export function createSidebar() {
  let ctx = null;  // of the last update: what a click acts on
  const wide = matchMedia("(min-width: 900px)");
  const keep = keeper();
  const opened = new Set(["model"]);
  let listOpened = false;

  const summary = h("summary", { "data-key": "filters" });
  const clear = h("button", { class: "button small", "data-key": "clear", onclick: () => ctx.set({ filters: {}, from: undefined, to: undefined, page: 1 }) }, "Clear all");
  const dates = ["from", "to"].map((key) => ({ key,
    input: h("input", { type: "date", "data-key": `date-${key}`, onchange: (event) => ctx.set({ [key]: event.target.value || undefined, page: 1 }) }) }));
  const range = h("div", { class: "dates" }, dates.map(({ key, input }) => h("label", { class: "field" }, h("span", {}, key === "from" ? "From" : "To"), input)));
  const groups = kDimensions.map(([name, label]) => ({ name, label, ...createGroup(name, label, opened, (option, on) => choose(name, option, on)) }));
  const list = h("details", { class: "filters" });
  list.addEventListener("toggle", () => { listOpened = list.open; });

  function choose(name, option, on) {
    const now = new Set(ctx.state.filters[name] ?? []);
    if (on) now.add(option);
    else now.delete(option);
    const filters = { ...ctx.state.filters, [name]: [...now] };
    if (now.size === 0) delete filters[name];
    ctx.set({ filters, page: 1 });
  }

  function update(context) {
    ctx = context;
    const { filtered, state } = ctx;
    const chosen = Object.values(state.filters).reduce((n, picked) => n + picked.length, 0) + (state.from ? 1 : 0) + (state.to ? 1 : 0);
    const shown = [];
    const same = [];
    for (const { name, label, element, show } of groups) {
      const options = filtered.options[name];
      const picked = state.filters[name]?.length ?? 0;
      if (options.length < 2 && picked === 0) {
        if (options.length === 1 && options[0].label !== "") same.push([label, options[0].label]);
        continue;
      }
      show(options, picked);
      shown.push(element);
    }
    for (const { key, input } of dates) if (input.value !== (state[key] ?? "")) input.value = state[key] ?? "";
    setChildren(summary, keep("summary", [chosen], () => [document.createTextNode("Filters"), chosen > 0 && h("span", { class: "count" }, formatCount(chosen))]));
    setChildren(list, [summary, chosen > 0 && clear, range, ...shown, same.length > 0 && keep("same", [same.flat().join("\u001f")], () => sameInAll(same))]);
    const open = wide.matches || listOpened;
    if (list.open !== open) list.open = open;
  }
  return { element: h("aside", { class: "sidebar", "aria-label": "Filters" }, list), update };
}

function sameInAll(pairs) {
  return h("details", { class: "same" }, h("summary", {}, "The same in every run"), h("dl", {}, pairs.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

// One dimension. Only an open group holds its options.
function createGroup(name, label, opened, choose) {
  let options = [];
  let lines = new Map();
  const count = h("span", { class: "count" });
  const body = h("div", { class: "options" });
  const element = h("details", { class: "group" }, h("summary", { "data-key": `g-${name}` }, label, count), body);
  element.addEventListener("toggle", () => {
    if (element.open) opened.add(name);
    else opened.delete(name);
    if (element.open && body.childElementCount === 0) fill();
  });

  function fill() {
    const held = lines;
    lines = new Map();
    for (const option of element.open ? options.slice(0, kOptionsMax) : []) {
      const line = held.get(option.label) ?? optionLine(name, option.label, choose);
      line.show(option);
      lines.set(option.label, line);
    }
    const more = options.length - kOptionsMax;
    setChildren(body, [...[...lines.values()].map((line) => line.element),
      element.open && more > 0 && h("p", { class: "more" }, `${formatCount(more)} more: narrow another filter first`)]);
  }

  function show(next, picked) {
    options = next;
    count.textContent = formatCount(picked > 0 ? picked : options.length);
    count.classList.toggle("on", picked > 0);
    const open = opened.has(name) || picked > 0;
    if (element.open !== open) element.open = open;
    fill();
  }
  return { element, show };
}

function optionLine(name, label, choose) {
  const input = h("input", { type: "checkbox", "data-key": `f-${name}-${label}`, onchange: () => choose(label, input.checked) });
  const count = h("span", { class: "count" });
  const element = h("label", { class: "option" }, input, h("span", { class: "text" }, label === "" ? h("em", {}, "not stated") : shown(name, label)), count);
  let last = null;
  return { element, show(option) {
    if (input.checked !== option.chosen) input.checked = option.chosen;
    if (last === option.count) return;
    last = option.count;
    element.classList.toggle("none", last === 0);
    count.textContent = formatCount(last);
  } };
}
