// Pair: candidate over control, only where both were measured in one session under equal conditions. Otherwise every
// reason why not.
import { intervalChart } from "./charts.js";
import { download, emptyNote, h, note } from "./dom.js";
import { describeMetric, formatCount, formatDay, formatNumber, formatSigned, formatTime, formatValue, lowerIsBetter, toCsv, toJson, unitName, basisName } from "./format.js";
import { comboOf, intervalOf, regimeText, rowsOfShard, shardByName, shardName, tagsOf } from "./model.js";
import { comparePair, declaredPairs, describeRow } from "./pairing.js";
import { nothingHere, runLink } from "./parts.js";

const kListMax = 100;

export function pairTab(ctx, main) {
  const { store, filtered } = ctx;
  if (filtered.count === 0) {
    main.append(nothingHere(ctx));
    return;
  }
  main.append(picker(ctx));
  const pairs = declaredPairs(store, filtered.pass);
  main.append(h("div", { class: "toolbar" }, h("h2", {}, "Runs that brought their control"), pairs.length > 0 && exports(ctx, pairs)));
  if (pairs.length === 0) {
    main.append(emptyNote("No run here names a control", "A ratio needs the incumbent measured again in the same session."));
    return;
  }
  main.append(h("ul", { class: "pairs" }, pairs.slice(0, kListMax).map((pair) => pairCard(ctx, pair))));
  if (pairs.length > kListMax) main.append(h("p", { class: "more" }, `${formatCount(pairs.length - kListMax)} more: filter to reach them`));
}

function better(combo, ratio, tag) {
  if (ratio === 1) return "no difference";
  const up = ratio > 1;
  return up !== lowerIsBetter(combo.metric, combo.unit, tag) ? "better" : "worse";
}

function verdictLine(ctx, combo, row, result, candidateText, controlText, interval = null) {
  if (!result.ok) return refusalList(result.refusals);
  const open = interval !== null && interval.low <= 1 && interval.high >= 1;
  return h("div", { class: "ratio" }, h("span", { class: "big" }, `${formatNumber(result.ratio, "x")}×`),
    h("span", { class: "what" }, h("b", {}, `${formatSigned(result.ratio - 1)}, ${open ? "but the interval holds 1: no difference shown" : better(combo, result.ratio, tagsOf(ctx.store, row).higher_is_better)}`),
      h("span", {}, `candidate ${candidateText}, control ${controlText}`)));
}

export function refusalList(refusals) {
  return h("div", { class: "refused" }, h("p", {}, h("b", {}, "No ratio. "), refusals.length === 1 ? "The two do not compare:" : `The two do not compare, for ${refusals.length} reasons:`),
    h("ul", {}, refusals.map((r) => h("li", { "data-field": r.field, "data-code": r.code }, h("code", {}, r.code), " ", r.text))));
}

function pairCard(ctx, pair) {
  const { store } = ctx;
  const { shard, row, control, result, other } = pair;
  const combo = row === null ? { metric: String(control.metric), unit: String(control.unit), basis: "" } : comboOf(store, row);
  const interval = row === null ? null : gainInterval(store, shard, combo);
  const ratios = otherRatios(store, shard, combo.metric);
  return h("li", { class: result.ok ? "card pair" : "card pair no" },
    h("div", { class: "head" }, h("span", { class: "model" }, store.dims.model.at(shard) ?? "(no model)"),
      h("span", { class: "detail" }, `${describeMetric(combo.metric).label}, ${unitName(combo.unit)}${combo.basis ? `, ${basisName(combo.basis)}` : ""}`),
      h("span", { class: "detail" }, row === null ? "" : regimeText(store, row)),
      h("span", { class: "detail" }, "candidate ", runLink(ctx, shard, formatTime(store.time[shard])), other !== undefined ? [" · control ", runLink(ctx, store.rowShard[other], formatTime(store.time[store.rowShard[other]]))] : " · control measured inside the run")),
    row === null ? refusalList(result.refusals) : verdictLine(ctx, combo, row, result, formatValue(store.value[row], combo.unit), formatValue(other === undefined ? control.value : store.value[other], combo.unit), interval),
    result.ok && ratios.length > 0 && h("dl", { class: "inline" }, ratios.map(([name, value]) => [h("dt", {}, name), h("dd", {}, `${formatNumber(value, "x")}×`)])),
    result.ok && interval && h("div", { class: "with-interval" }, intervalChart({ value: interval.value, low: interval.low, high: interval.high, text: (v) => `${formatNumber(v, "x")}×` }),
      h("p", { class: "hint" }, `${interval.name}: ${formatNumber(interval.value, "x")}×, ${interval.kind} ${formatNumber(interval.low, "x")} to ${formatNumber(interval.high, "x")}`)));
}

// The gain with its interval, where the run was sealed with one.
function gainInterval(store, shard, combo) {
  const wanted = combo.metric === "decode_toks_per_s" ? "decode_gain" : combo.metric === "throughput_prompt_toks_per_s" ? "prefill_gain" : null;
  for (const row of rowsOfShard(store, shard)) {
    const c = comboOf(store, row);
    if (c?.metric !== wanted || c.unit !== "x") continue;
    const interval = intervalOf(store, row);
    if (interval) return { ...interval, value: store.value[row], name: describeMetric(c.metric).label };
  }
  return null;
}

// Ratios of the run's other figures, as it reports them itself.
function otherRatios(store, shard, metric) {
  const out = [];
  for (const row of rowsOfShard(store, shard)) {
    const of = tagsOf(store, row).ratio_of;
    if (comboOf(store, row)?.metric === "control_ratio" && of !== undefined && of !== metric) out.push([describeMetric(of).label, store.value[row]]);
  }
  return out;
}

function picker(ctx) {
  const { store, rows, filtered, combos, combo, state } = ctx;
  const runs = [...new Set(rows.map((row) => store.rowShard[row]))].sort((a, b) => store.time[b] - store.time[a]).slice(0, 200);
  const label = (shard) => `${formatDay(store.time[shard])} ${store.dims.model.at(shard) ?? ""} ${store.regime[shard].prompt ?? ""} ${store.shards.at("git_sha", shard) ?? ""}`.trim();
  const choices = runs.map((shard) => [shardName(store, shard), label(shard)]);
  const options = (chosen) => [h("option", { value: "" }, "choose a run"), ...choices.map(([name, text]) => h("option", { value: name, selected: name === chosen }, text))];
  const field = (key, name) => h("label", { class: "field grow" }, h("span", {}, name), h("select", { "data-key": `sel-${key}`, onchange: (event) => ctx.set({ [key]: event.target.value || undefined }) }, options(state[key])));
  const metric = combo && h("label", { class: "field" }, h("span", {}, "Metric"), h("select", { "data-key": "sel-pairmetric", onchange: (event) => {
    const c = combos[Number(event.target.value)];
    ctx.set({ name: c.name, metric: c.metric, unit: c.unit, basis: c.basis });
  } }, combos.map((c, i) => h("option", { value: i, selected: c.id === combo.id }, `${describeMetric(c.metric).label}, ${c.unit}${c.basis ? `, ${basisName(c.basis)}` : ""} (${c.name})`))));
  const out = h("section", { class: "card picker", "aria-label": "Two runs of your choice" }, h("h2", {}, "Two runs of your choice"),
    h("div", { class: "fields" }, metric), h("div", { class: "fields" }, field("cand", "Candidate"), field("ctrl", "Control")));
  const cand = state.cand ? shardByName(store, state.cand) : -1;
  const ctrl = state.ctrl ? shardByName(store, state.ctrl) : -1;
  if (cand < 0 || ctrl < 0) return out;
  const rowOf = (shard) => [...rowsOfShard(store, shard)].find((row) => store.rowCombo[row] === combo?.id) ??
    [...rowsOfShard(store, shard)].find((row) => comboOf(store, row)?.metric === combo?.metric) ?? [...rowsOfShard(store, shard)].find((row) => comboOf(store, row) !== null);
  const a = rowOf(cand), b = rowOf(ctrl);
  if (a === undefined || b === undefined) {
    out.append(note("warning", "One of the two runs has no figure at all: there is nothing to divide."));
    return out;
  }
  const result = comparePair(describeRow(store, a), describeRow(store, b));
  out.append(h("div", { id: "picked" }, verdictLine(ctx, comboOf(store, a), a, result, formatValue(store.value[a], comboOf(store, a).unit), formatValue(store.value[b], comboOf(store, b).unit))));
  if (!filtered.pass[cand] || !filtered.pass[ctrl]) out.append(h("p", { class: "hint" }, "One of them lies outside the present filters."));
  return out;
}

function exports(ctx, pairs) {
  const { store } = ctx;
  const header = ["candidate", "control", "metric", "unit", "candidate_value", "control_value", "ratio", "refusals"];
  const table = () => pairs.map((p) => [shardName(store, p.shard), p.other === undefined ? "(same run)" : shardName(store, store.rowShard[p.other]), String(p.control.metric), String(p.control.unit),
    p.row === null ? null : store.value[p.row], p.other === undefined ? p.control.value : store.value[p.other], p.result.ok ? p.result.ratio : null,
    p.result.ok ? null : p.result.refusals.map((r) => `${r.code} ${r.field}`).join("; ")]);
  return h("div", { class: "downloads" },
    h("button", { class: "button small", "data-key": "csv", onclick: () => download("assay-pairs.csv", "text/csv", toCsv(header, table())) }, "CSV"),
    h("button", { class: "button small", "data-key": "json", onclick: () => download("assay-pairs.json", "application/json", toJson(header, table())) }, "JSON"));
}
