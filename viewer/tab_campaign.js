// Campaign: what was planned as a matrix, profile and window down, prompt length across; what became of each cell.
import { download, emptyNote, h, statusChip, statusNames } from "./dom.js";
import { clip, describeMetric, formatCount, formatDay, formatNumber, formatValue, toCsv, toJson } from "./format.js";
import { campaignMatrix, campaigns, windowName } from "./layouts.js";
import { comboOf, flagsOf, statusOf } from "./model.js";
import { nothingHere, runLink } from "./parts.js";

export function campaignTab(ctx, main) {
  const { store, filtered, state } = ctx;
  const list = campaigns(store, filtered.pass);
  if (list.length === 0) {
    main.append(filtered.count === 0 ? nothingHere(ctx) : emptyNote("No campaign here", "None of these runs belongs to a campaign."));
    return;
  }
  const id = list.some((c) => c.id === state.campaign) ? state.campaign : list[0].id;
  const matrix = campaignMatrix(store, filtered.pass, id);
  main.append(h("div", { class: "toolbar" },
    h("label", { class: "field" }, h("span", {}, "Campaign"), h("select", { "data-key": "sel-campaign", onchange: (event) => ctx.set({ campaign: event.target.value }) },
      list.slice(0, 1000).map((c) => h("option", { value: c.id, selected: c.id === id }, `${c.id} (${formatCount(c.runs)}, ${formatDay(c.last)})`)))),
    exports(ctx, id, matrix)));
  main.append(h("p", { class: "status-legend" }, Object.keys(statusNames).filter((s) => matrix.counts.has(s)).map((s) => [statusChip(s), ` ${formatCount(matrix.counts.get(s))}  `])));
  main.append(h("div", { class: "scroll card flush", tabindex: 0, role: "region", "aria-label": `Matrix of ${id}` }, h("table", { class: "matrix" },
    h("caption", { class: "visually-hidden" }, "Cumulative throughput, decode and prefill rate of each cell, or what became of it"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Profile and window"), matrix.targets.map((t) => h("th", { scope: "col" }, t === null ? "length not stated" : `${formatCount(t)} tokens`)))),
    h("tbody", {}, matrix.lines.map((line) => h("tr", {}, h("th", { scope: "row" }, h("span", { class: "model" }, line.profile), h("span", { class: "detail" }, windowName(line.window))),
      matrix.targets.map((t) => h("td", {}, line.cells.has(t) ? tile(ctx, line.cells.get(t)) : h("span", { class: "visually-hidden" }, "no run")))))))));
  main.append(h("p", { class: "hint" }, "Large: cumulative. Below: decode and prefill. The first request to a server is never part of them; a cell shows it apart, and whether the model was loaded by then. An empty cell was not run or is not published."));
}

function tile(ctx, cell) {
  const { store } = ctx;
  const text = (row) => formatValue(store.value[row], comboOf(store, row)?.unit ?? "");
  const f = cell.figures;
  const body = cell.status !== "success"
    ? [statusChip(cell.status), cell.reason && h("span", { class: "reason" }, clip(cell.reason, 160))]
    : [h("span", { class: "figure" }, f.cumulative !== undefined ? text(f.cumulative) : statusChip("success")),
       h("span", { class: "detail" }, [f.decode !== undefined && `decode ${formatNumber(store.value[f.decode], "tok/s")}`, f.prefill !== undefined && `prefill ${formatNumber(store.value[f.prefill], "tok/s")}`].filter(Boolean).join(" · ")),
       f.ttft !== undefined && h("span", { class: "detail" }, `first token ${text(f.ttft)}`),
       f.cumulative !== undefined && flagsOf(store, f.cumulative).map((x) => h("span", { class: "chip bad" }, x))];
  const link = runLink(ctx, cell.shard, ...body, firstRequest(store, cell.readiness), cell.earlier > 0 && h("span", { class: "detail" }, `${formatCount(cell.earlier)} earlier`));
  link.classList.add("cell", `c-${Object.hasOwn(statusNames, cell.status) ? cell.status : "unknown"}`);
  return link;
}

// What the first request took, apart from the medians, and whether the model was loaded by then.
const kTook = { readiness_ttft_ms: "first token", readiness_request_duration_s: "in all" };
function firstRequest(store, { state, rows }) {
  if (rows.length === 0) return state !== null && h("span", { class: "detail cold" }, `model at first contact: ${state}`);
  const name = (metric) => (Object.hasOwn(kTook, metric) ? kTook[metric] : describeMetric(metric).label);
  const took = rows.map((row) => `${name(store.rows.at("metric", row))} ${formatValue(store.value[row], store.rows.at("unit", row))}`);
  return h("span", { class: "detail cold" }, `first request${state === null ? "" : `, model ${state}`}: ${took.join(", ")}`);
}

function exports(ctx, id, matrix) {
  const { store } = ctx;
  const header = ["campaign_id", "profile", "configured_window_tokens", "target_prompt_tokens", "cell_status", "cumulative_tok_s", "decode_tok_s", "prefill_tok_s", "ttft_ms", "initial_model_state", "readiness", "reason", "path"];
  const table = () => matrix.lines.flatMap((line) => [...line.cells].map(([target, cell]) => {
    const value = (row) => (row === undefined ? null : store.value[row]);
    return [id, line.profile, line.window, target, statusOf(store, cell.shard), value(cell.figures.cumulative), value(cell.figures.decode), value(cell.figures.prefill),
      value(cell.figures.ttft), cell.readiness.state, cell.readiness.rows.map((row) => `${store.rows.at("metric", row)}=${store.value[row]}`).join("; ") || null, cell.reason || null, store.shards.at("path", cell.shard)];
  }));
  return h("div", { class: "downloads" },
    h("button", { class: "button small", "data-key": "csv", onclick: () => download("assay-campaign.csv", "text/csv", toCsv(header, table())) }, "CSV"),
    h("button", { class: "button small", "data-key": "json", onclick: () => download("assay-campaign.json", "application/json", toJson(header, table())) }, "JSON"));
}
