// Table: one line a series, figures side by side, each column one metric in one unit on one basis.
import { download, h } from "./dom.js";
import { basisName, describeMetric, formatCount, formatDay, formatNumber, lowerIsBetter, toCsv, toJson, unitName } from "./format.js";
import { kLongHeader, longRow, pivot } from "./layouts.js";
import { byName, flagsOf, nameSeries, rankProblems } from "./model.js";
import { nothingHere, runLink, statusList } from "./parts.js";

const kPage = 50;

export function tableTab(ctx, main) {
  const { store, state, filtered } = ctx;
  const table = pivot(store, filtered.pass);
  if (table.lines.length === 0) {
    main.append(nothingHere(ctx), statusList(ctx));
    return;
  }
  const [sortKey, order] = (state.sort ?? "").split(":");
  const at = table.columns.findIndex((c) => String(c.id) === sortKey);
  const column = table.columns[at];
  if (column) {
    const sign = order === "up" ? 1 : -1;
    const value = (line) => (line.cells[at] >= 0 ? store.value[line.cells[at]] : NaN);
    table.lines.sort((a, b) => {
      const x = value(a), y = value(b);
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);  // blanks last, always
      return sign * (x - y) || byName(a, b);
    });
  }
  const pages = Math.ceil(table.lines.length / kPage);
  const page = Math.min(state.page, pages);
  const lines = table.lines.slice((page - 1) * kPage, page * kPage);
  nameSeries(store, lines);

  const wide = () => [["series", "date", "path", ...table.columns.map(columnName)],
    named(store, table.lines).map((line) => [line.label, formatDay(store.time[store.rowShard[line.latest]]), store.shards.at("path", store.rowShard[line.latest]),
      ...line.cells.map((row) => (row >= 0 ? store.value[row] : null))])];
  const long = () => table.lines.flatMap((line) => line.cells.filter((row) => row >= 0)).map((row) => longRow(store, row, state.ev));
  const button = (key, label, f) => h("button", { class: "button small", "data-key": key, onclick: f }, label);
  main.append(h("div", { class: "toolbar" },
    h("p", { class: "hint" }, `${formatCount(table.lines.length)} series, latest run of each. Conditions differ between lines: compare along a line, or look at Compare.`),
    h("div", { class: "downloads" }, button("csv", "CSV", () => download("assay-table.csv", "text/csv", toCsv(...wide()))),
      button("json", "JSON", () => download("assay-table.json", "application/json", toJson(...wide()))),
      button("csv-long", "CSV, one row a figure", () => download("assay-rows.csv", "text/csv", toCsv(kLongHeader, long()))))));

  const head = (c) => {
    const active = column?.id === c.id;
    const first = lowerIsBetter(c.metric, c.unit) ? "up" : "down";
    const next = active ? (order === "up" ? "down" : "up") : first;
    return h("th", { scope: "col", class: "num", "aria-sort": active ? (order === "up" ? "ascending" : "descending") : "none" },
      h("button", { class: "sort", "data-key": `sort-${c.id}`, title: `${c.name} · ${c.metric}`, onclick: () => ctx.set({ sort: `${c.id}:${next}`, page: 1 }, { replace: true }) },
        h("span", {}, describeMetric(c.metric).label), h("span", { class: "unit" }, [c.name !== table.columns[0].name ? c.name : null, unitName(c.unit), c.basis && basisName(c.basis)].filter(Boolean).join(" · ")),
        h("span", { class: "arrow", "aria-hidden": "true" }, active ? (order === "up" ? "▲" : "▼") : "")));
  };
  main.append(h("div", { class: "scroll card flush", tabindex: 0, role: "region", "aria-label": "Figures" }, h("table", { class: "pivot", style: { "--figures": table.columns.length } },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Series"), table.columns.map(head), h("th", { scope: "col" }, "Run"))),
    h("tbody", {}, lines.map((line) => h("tr", {},
      h("th", { scope: "row" }, h("span", { class: "model" }, line.model), line.detail && h("span", { class: "detail" }, line.detail),
        chips(store, line.latest)),
      line.cells.map((row, i) => h("td", { class: "num" }, row >= 0 ? formatNumber(store.value[row], table.columns[i].unit) : "")),
      h("td", { class: "date" }, runLink(ctx, store.rowShard[line.latest], formatDay(store.time[store.rowShard[line.latest]]) || "open"))))))));
  if (table.left > 0) main.append(h("p", { class: "more" }, `${formatCount(table.left)} more columns are in the downloads of the other tabs; filter to see them here.`));
  if (pages > 1) {
    const go = (to, label, off) => h("button", { class: "button small", disabled: off, "data-key": `page-${label}`, onclick: () => ctx.set({ page: to }) }, label);
    main.append(h("nav", { class: "pages", "aria-label": "Pages" }, go(page - 1, "Previous", page === 1), h("span", {}, `${page} of ${pages}`), go(page + 1, "Next", page === pages)));
  }
  main.append(statusList(ctx));
}

function chips(store, row) {
  const all = [...rankProblems(store, row).map((p) => h("span", { class: "chip warn" }, p)), ...flagsOf(store, row).map((p) => h("span", { class: "chip bad" }, p))];
  return all.length > 0 && h("span", { class: "chips" }, all);
}

function named(store, lines) {
  nameSeries(store, lines);
  return lines;
}

function columnName(c) {
  return [c.name, c.metric, c.unit, c.basis].filter(Boolean).join(" ");
}
