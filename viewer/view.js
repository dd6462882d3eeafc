// The frame around the tabs: header, evidence switch, tabs, selectors, filters, warnings. Draws what the model says.
import { createCharts } from "./curves.js";
import { basisName, describeMetric, formatCount, formatTime, unitName } from "./format.js";
import { h, keeper, note, setChildren, statusChip } from "./dom.js";
import { applyFilters, availableCombos, chooseCombo, evidenceCounts, firstEvidence, kEvidence, selectRows, suiteCounts, tally } from "./model.js";
import { morph } from "./morph.js";
import { createSidebar } from "./sidebar.js";
import { kTabs } from "./state.js";
import { campaignTab } from "./tab_campaign.js";
import { compareTab } from "./tab_compare.js";
import { contextTab } from "./tab_context.js";
import { pairTab } from "./tab_pair.js";
import { runTab } from "./tab_run.js";
import { tableTab } from "./tab_table.js";
import { trendTab } from "./tab_trend.js";

const kTabNames = { compare: "Compare", trend: "Trend", table: "Table", context: "Context", campaign: "Campaign", pair: "Pair", run: "Run" };
const kTabViews = { compare: compareTab, trend: trendTab, table: tableTab, context: contextTab, campaign: campaignTab, pair: pairTab, run: runTab };
const kEvidenceNames = { scored: "Scored", experimental: "Experimental", recovered: "Recovered", invalid: "Invalid" };
const kWarnings = {
  experimental: "Experimental runs are not for ranking. Nobody has said yet what they may be used for.",
  recovered: "Recovered runs are not for ranking. They were pieced together afterwards; their conditions may be incomplete.",
  invalid: "Invalid runs are known to be wrong. They are kept so that nobody trusts an old copy; each says why.",
};

/**
 * A change of the state describes the chosen tab anew and changes what differs in the page; the rest stays where nothing
 * of it changed. So a change costs what it changes.
 */
export function createView(root) {
  const ui = { disposers: [], all: new Set() };
  const live = h("div", { class: "visually-hidden", "aria-live": "polite" });
  const keep = keeper();
  const sidebar = createSidebar();
  const charts = createCharts();
  const narrow = matchMedia("(max-width: 619px)");
  let last = null;
  let main = null, shownTab = "";
  initTheme(() => last && render(last));
  hoverTips(root);

  function render(context) {
    last = context;
    for (const dispose of ui.disposers.splice(0)) dispose();
    const focus = document.activeElement?.dataset?.key;
    const { store } = context;
    const state = { ...context.state, ev: context.state.ev ?? firstEvidence(store) };
    const suites = suiteCounts(store, state.ev);
    if (!state.suite || !suites.has(state.suite)) state.suite = bestSuite(suites);
    const filtered = applyFilters(store, state);
    const combos = availableCombos(store, filtered.pass);
    const combo = chooseCombo(combos, state);
    const rows = combo ? selectRows(store, filtered.pass, combo.id) : [];
    const ctx = { ...context, state, suites, filtered, combos, combo, rows, ui, announce, redraw: () => render(last),
      dispose: (f) => ui.disposers.push(f), chart: charts.want };

    const alone = state.tab === "run";
    const fresh = h("main", { id: "panel", class: "panel", role: "tabpanel", "aria-labelledby": `tab-${state.tab}` });
    if (!alone) {
      sidebar.update(ctx);
      fresh.append(selectors(ctx));
    }
    kTabViews[state.tab](ctx, fresh);
    // The Run tab fills itself later: it keeps the elements that it made.
    if (main !== null && shownTab === state.tab && !alone) morph(main, fresh);
    else main = fresh;
    shownTab = state.tab;
    const body = keep("body", [alone], () => h("div", { class: alone ? "body alone" : "body" }));
    setChildren(body, [alone ? null : sidebar.element, main]);
    setChildren(root, [
      keep("header", [store], () => header(ctx)),
      keep("controls", [store, state.ev, state.tab], () => h("div", { class: "controls" }, evidenceSwitch(ctx), tabList(ctx))),
      keep("notices", [store, state.ev], () => notices(ctx)),
      body, keep("footer", [store], () => footer(ctx)), live]);
    charts.draw();
    root.dataset.state = "ready";
    root.dataset.tab = state.tab;
    const title = `${kTabNames[state.tab]} · ${store.index.title ?? "Assay record"}`;
    if (document.title !== title) document.title = title;
    if (narrow.matches) showTab(root);
    if (focus && document.activeElement?.dataset?.key !== focus) root.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
  }
  function announce(text) {
    live.textContent = text;
  }
  return { render, announce };
}

// On a narrow screen the row of tabs scrolls: the chosen one is in view.
function showTab(root) {
  const list = root.querySelector(".tabs");
  const tab = list.querySelector("[aria-selected=true]");
  list.scrollLeft = tab.offsetLeft - list.offsetLeft - (list.clientWidth - tab.offsetWidth) / 2;
}

function bestSuite(suites) {
  return [...suites].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "throughput";
}

// What a bar stands for, in words, beside the pointer or the focused bar: its accessible name.
function hoverTips(root) {
  const tip = h("div", { id: "hover", class: "tip", hidden: true, "aria-hidden": "true" });
  document.body.append(tip);
  const show = (event) => {
    const target = event.target.closest?.(".bar a");
    tip.hidden = !target;
    if (!target) return;
    tip.textContent = target.getAttribute("aria-label").replaceAll(".\n", "\n");
    const box = target.getBoundingClientRect();
    const left = event.type === "pointerover" ? event.clientX + 14 : box.left + 40;
    tip.style.left = `${Math.max(6, Math.min(left, innerWidth - tip.offsetWidth - 6))}px`;
    tip.style.top = `${box.bottom + tip.offsetHeight + 8 > innerHeight ? Math.max(6, box.top - tip.offsetHeight - 4) : box.bottom + 4}px`;
  };
  for (const type of ["pointerover", "focusin"]) root.addEventListener(type, (event) => { if (event.pointerType !== "touch") show(event); });
  for (const type of ["pointerleave", "focusout", "click"]) root.addEventListener(type, () => { tip.hidden = true; });
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
  addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
}

// Light and dark follow the system until the reader chooses.
function initTheme(changed) {
  let saved = null;
  try {
    saved = localStorage.getItem("assay-theme");
  } catch { /* a page without storage follows the system */ }
  if (saved === "light" || saved === "dark") document.documentElement.dataset.theme = saved;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}
function toggleTheme(ctx) {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("assay-theme", root.dataset.theme);
  } catch { /* then it lasts as long as the page */ }
  ctx.redraw();
}

function header(ctx) {
  const { store } = ctx;
  const built = Date.parse(store.index.built_at);
  return h("header", { class: "top" },
    h("div", { class: "brand" }, h("a", { href: "#", class: "mark", "aria-label": "Assay record, start" }, h("span", { class: "logo", "aria-hidden": "true" }), "Assay"),
      h("span", { class: "store", title: store.index.store }, store.index.title ?? store.index.store ?? "")),
    h("div", { class: "tools" },
      Number.isFinite(built) && h("span", { class: "asof" }, `as of ${formatTime(built)} UTC`),
      ctx.refresh && h("button", { class: "button", "data-key": "refresh", onclick: () => { ctx.announce("Reading the index again"); ctx.refresh(); } }, "Refresh"),
      h("button", { class: "button", "data-key": "theme", "aria-label": "Switch between light and dark", title: "Light or dark", onclick: () => toggleTheme(ctx) }, "◐")));
}

// Arrow keys move inside a group of buttons; one of them is in the tab order.
function roving(group, items) {
  group.addEventListener("keydown", (event) => {
    const at = items.indexOf(document.activeElement);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    let next = null;
    if (step && at >= 0) next = items[(at + step + items.length) % items.length];
    if (event.key === "Home") next = items[0];
    if (event.key === "End") next = items[items.length - 1];
    if (!next) return;
    event.preventDefault();
    next.focus();
    next.click();
  });
  return group;
}

function evidenceSwitch(ctx) {
  const counts = evidenceCounts(ctx.store);
  const items = kEvidence.map((name, i) => h("button", {
    class: `evidence e-${name}`, role: "radio", "aria-checked": String(ctx.state.ev === name), tabindex: ctx.state.ev === name ? 0 : -1,
    "data-key": `ev-${name}`, onclick: () => ctx.set({ ev: name, filters: {}, series: [], page: 1, run: undefined, cand: undefined, ctrl: undefined }),
  }, kEvidenceNames[name], h("span", { class: "count" }, formatCount(counts[i]))));
  return roving(h("div", { class: "segmented", role: "radiogroup", "aria-label": "Evidence" }, items), items);
}

function tabList(ctx) {
  const items = kTabs.map((name) => h("button", {
    class: "tab", role: "tab", id: `tab-${name}`, "aria-selected": String(ctx.state.tab === name), "aria-controls": "panel",
    tabindex: ctx.state.tab === name ? 0 : -1, "data-key": `tab-${name}`, onclick: () => ctx.set({ tab: name, page: 1 }),
  }, kTabNames[name]));
  return roving(h("div", { class: "tabs", role: "tablist", "aria-label": "Views" }, items), items);
}

function notices(ctx) {
  const { store, state } = ctx;
  const out = [];
  const index = store.index.index ?? { state: "missing" };
  if (index.state !== "ok") {
    out.push(note("warning", h("strong", {}, index.state === "unreadable" ? "The run index cannot be read. " : "There is no run index. "),
      "Everything counts as experimental until there is one.", index.problem ? ` ${index.problem}` : ""));
  }
  if (kWarnings[state.ev]) out.push(note("warning", h("strong", {}, kEvidenceNames[state.ev], ". "), kWarnings[state.ev]));
  if (store.index.shards.left_out > 0) out.push(note("warning", `This export holds the newest ${formatCount(store.n)} runs; ${formatCount(store.index.shards.left_out)} older ones were left out.`));
  if (store.problems.length > 0) {
    out.push(h("details", { class: "note warning problems" },
      h("summary", {}, store.problems.length === 1 ? "1 file of the store has a problem" : `${formatCount(store.problems.length)} files of the store have a problem`),
      h("ul", {}, store.problems.slice(0, 200).map((p) => h("li", {}, h("code", {}, p.path ?? ""), " ", p.problem ?? "", p.shown === true ? " (shown all the same)" : "")))));
  }
  return h("div", { class: "notices" }, out);
}

function select(ctx, key, label, options, value, change) {
  return h("label", { class: "field" }, h("span", {}, label),
    h("select", { "data-key": `sel-${key}`, onchange: (event) => change(event.target.value) },
      options.map((o) => h("option", { value: o.value, disabled: o.disabled, selected: o.value === value }, o.label))));
}

const kUsesCombo = new Set(["compare", "trend"]);

function selectors(ctx) {
  const { state, combos, combo } = ctx;
  const fields = [];
  const suites = [...ctx.suites].sort((a, b) => (b[1] > 0) - (a[1] > 0));
  fields.push(select(ctx, "suite", "Suite", suites.map(([name, count]) => ({ value: name, label: count > 0 ? `${name} (${formatCount(count)})` : `${name}: awaiting data`, disabled: count === 0 })),
    state.suite, (value) => ctx.set({ suite: value, name: undefined, metric: undefined, unit: undefined, basis: undefined, series: [], filters: {}, page: 1 })));
  if (kUsesCombo.has(state.tab) && combo) {
    const levels = [["name", "Task", (v) => v], ["metric", "Metric", (v) => describeMetric(v).label], ["unit", "Unit", unitName], ["basis", "Rate basis", basisName]];
    let left = combos;
    levels.forEach(([key, label, show], at) => {
      const values = [...new Set(left.map((c) => c[key]))];
      if (key === "name" || key === "metric" || values.length > 1) {
        fields.push(select(ctx, key, label, values.map((v) => ({ value: v, label: show(v) })), combo[key], (value) => {
          const patch = { [key]: value, series: [], page: 1 };
          for (const [deeper] of levels.slice(at + 1)) patch[deeper] = undefined;
          for (const [higher] of levels.slice(0, at)) patch[higher] = combo[higher];
          ctx.set(patch);
        }));
      }
      left = left.filter((c) => c[key] === combo[key]);
    });
  }
  const formula = kUsesCombo.has(state.tab) && combo ? describeMetric(combo.metric).formula : "";
  return h("section", { class: "selectors", "aria-label": "What is shown" }, h("div", { class: "fields" }, fields),
    formula && h("p", { class: "formula" }, h("code", {}, combo.metric), ` = ${formula}`, combo.basis ? `; clock: ${basisName(combo.basis)}` : ""),
    tallyLine(ctx));
}

function tallyLine(ctx) {
  const { store, filtered, rows } = ctx;
  const counts = tally(store, filtered.pass, rows);
  return h("p", { class: "tally" }, `${formatCount(filtered.count)} run${filtered.count === 1 ? "" : "s"}`,
    counts.failed > 0
      ? [", ", h("span", {}, `${formatCount(counts.failed)} without a figure: `), counts.statuses.map(([status, n]) => [statusChip(status), ` ${formatCount(n)} `])]
      : ", none failed",
    counts.requests > 0 && h("span", { class: "chip bad" }, `${formatCount(counts.requests)} failed request${counts.requests === 1 ? "" : "s"} inside the shown runs`));
}

function footer(ctx) {
  const { store } = ctx;
  return h("footer", {}, h("p", {}, `${formatCount(store.n)} shard${store.n === 1 ? "" : "s"}, ${formatCount(store.m)} row${store.m === 1 ? "" : "s"}. `, store.index.index?.policy ?? ""),
    h("p", {}, "Times are UTC. Blank means not stated; it never means zero."));
}
