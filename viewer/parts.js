// Pieces that several tabs share: links to a run, tiles of runs without a figure, downloads, lists of facts.
import { download, emptyNote, h, statusChip } from "./dom.js";
import { clip, formatCount, formatDay, isMissing, toCsv, toJson } from "./format.js";
import { kLongHeader, longRow } from "./layouts.js";
import { reasonOf, shardName, statusOf, statusRuns } from "./model.js";

const kTilesMax = 12;

export function runLink(ctx, shard, ...children) {
  const name = shardName(ctx.store, shard);
  return h("a", { href: `#tab=run&ev=${ctx.state.ev}&suite=${encodeURIComponent(ctx.state.suite)}&run=${encodeURIComponent(name)}`, class: "runlink" }, ...children);
}

/** Runs that gave no figure: tiles with words, never a bar. */
export function statusList(ctx) {
  const { store, filtered } = ctx;
  const runs = statusRuns(store, filtered.pass);
  if (runs.length === 0) return h("div", {});
  const shown = ctx.ui.all.has("tiles") ? runs.slice(0, 600) : runs.slice(0, kTilesMax);
  return h("section", { class: "tiles-card", "aria-label": "Runs without a figure" }, h("h2", {}, "Runs without a figure"),
    h("ul", { class: "tiles" }, shown.map((shard) => h("li", { class: "tile" },
      runLink(ctx, shard, statusChip(statusOf(store, shard)), h("span", { class: "model" }, store.dims.model.at(shard) ?? "(no model)"),
        h("span", { class: "detail" }, [store.shards.at("campaign_profile", shard), store.dims.window.at(shard) && `window ${store.dims.window.at(shard)}`,
          store.regime[shard].prompt && `prompt ${store.regime[shard].prompt}`, formatDay(store.time[shard])].filter(Boolean).join(" · "))),
      reasonOf(store, shard) && h("p", { class: "reason" }, clip(reasonOf(store, shard), 240))))),
    runs.length > shown.length && (shown.length > kTilesMax ? h("p", { class: "more" }, `and ${formatCount(runs.length - shown.length)} more: filter to reach them`)
      : h("button", { class: "button small", "data-key": "all-tiles", onclick: () => { ctx.ui.all.add("tiles"); ctx.redraw(); } }, `Show ${formatCount(runs.length - shown.length)} more`)));
}

/** Buttons for the rows that `rowIds()` gives when one is pressed. */
export function downloads(ctx, name, rowIds) {
  const table = () => rowIds().map((row) => longRow(ctx.store, row, ctx.state.ev));
  return h("div", { class: "downloads" },
    h("button", { class: "button small", "data-key": "csv", onclick: () => download(`assay-${name}.csv`, "text/csv", toCsv(kLongHeader, table())) }, "CSV"),
    h("button", { class: "button small", "data-key": "json", onclick: () => download(`assay-${name}.json`, "application/json", toJson(kLongHeader, table())) }, "JSON"));
}

/** What a group of equal conditions is called; `otherwise` where there is nothing to state. */
export function regimeTitle({ regime, gaps }, otherwise = "") {
  return gaps.length > 0 ? `Conditions not fully stated${regime ? `: ${regime}` : ""}` : regime || otherwise;
}

/** What a tab shows when the selection is empty: why, and the way out. */
export function nothingHere(ctx) {
  const { store, state, filtered } = ctx;
  if (store.n === 0) return emptyNote("No runs yet", "Publish one into this store and press Refresh.");
  if ((ctx.suites.get(state.suite) ?? 0) === 0) return emptyNote(`No ${state.ev} runs of ${state.suite}`, "Awaiting data. Another evidence class or suite may have some.");
  if (filtered.count === 0) return emptyNote("No run passes these filters", "Clear a filter to see more.");
  return emptyNote("No figure to draw", "The runs that pass have no value of this kind; what became of them is below.");
}

/** Nested facts as dotted lines. */
export function objectFacts(value, prefix = "") {
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, v]) => (v !== null && typeof v === "object" ? objectFacts(v, `${prefix}${key}.`) : isMissing(v) ? [] : [[`${prefix}${key}`, v]]));
}

export function facts(title, pairs, none) {
  return h("section", { class: "card facts" }, h("h2", {}, title),
    pairs.length > 0 ? h("dl", {}, pairs.map(([k, v]) => [h("dt", {}, k), h("dd", {}, text(v))])) : h("p", { class: "hint" }, none ?? "Not stated."));
}
function text(value) {
  if (typeof value === "number") return Number.isInteger(value) && Math.abs(value) >= 10000 ? formatCount(value) : String(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value);
}

export function grid(header, rows, numbers = []) {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": header.join(", ") }, h("table", {}, h("thead", {}, h("tr", {}, header.map((t, i) => h("th", { scope: "col", class: numbers.includes(i) ? "num" : null }, t)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) => h("td", { class: numbers.includes(i) ? "num" : null }, cell)))))));
}
