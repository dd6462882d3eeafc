// How selected rows lie in a table, over the prompt length, or in a campaign's matrix. Pure.
import { dictionary } from "./columns.js";
import { collate, formatCount, isMissing } from "./format.js";
import { byName, comboOf, kHeadline, nameSeries, reasonOf, rowsOfShard, seriesCode, shardName, statusOf, tagsOf } from "./model.js";

/** What a rate row says, whatever the tool called it: cumulative, decode, prefill, ttft, or null. */
export function kindOf(combo) {
  switch (combo?.metric) {
    case kHeadline: return "cumulative";
    case "decode_toks_per_s": return "decode";
    case "throughput_output_toks_per_s": return combo.basis === "decode_window" ? "decode" : null;
    case "throughput_prompt_toks_per_s": return "prefill";
    case "ttft_p50_ms": return "ttft";
    default: return null;
  }
}
const kKinds = ["cumulative", "decode", "prefill", "ttft"];

function passingRows(store, pass) {
  const out = [];
  for (let r = 0; r < store.m; ++r) if (store.rowCombo[r] >= 0 && pass[store.rowShard[r]] && !Number.isNaN(store.value[r])) out.push(r);
  return out;
}

/**
 * One line a series, one column a (name, metric, unit, basis); cumulative and decode first, side by side.
 * Cells are rows (latest of that series and column) or undefined. What is shown is named by nameSeries.
 */
export function pivot(store, pass, columnsMax = 12) {
  const rows = passingRows(store, pass);
  const uses = new Map();
  for (const row of rows) uses.set(store.rowCombo[row], (uses.get(store.rowCombo[row]) ?? 0) + 1);
  const order = (combo) => {
    const at = kKinds.indexOf(kindOf(store.combos[combo]));
    return at < 0 ? kKinds.length : at;
  };
  const all = [...uses.keys()].sort((a, b) => order(a) - order(b) || uses.get(b) - uses.get(a) || a - b);
  const columns = all.slice(0, columnsMax);
  const shown = new Set(columns);
  const lines = new Map();
  for (const row of rows) {
    const code = seriesCode(store, row);
    let line = lines.get(code);
    if (!line) lines.set(code, (line = { code, rows: [], cells: new Map() }));
    line.rows.push(row);
    if (!shown.has(store.rowCombo[row])) continue;
    const held = line.cells.get(store.rowCombo[row]);
    if (held === undefined || store.time[store.rowShard[row]] >= store.time[store.rowShard[held]]) line.cells.set(store.rowCombo[row], row);
  }
  const list = [...lines.values()];
  for (const line of list) {
    line.latest = line.rows.reduce((x, y) => (store.time[store.rowShard[y]] > store.time[store.rowShard[x]] ? y : x));
    line.model = store.dims.model.at(store.rowShard[line.latest]) ?? "(no model)";
  }
  list.sort((x, y) => byName(store, x, y));
  return { columns: columns.map((id) => ({ id, ...store.combos[id] })), left: all.length - columns.length, lines: list };
}

/** The prompt length that a run really had: what the server counted, else what the regime states as one number. */
export function promptTokens(store, shard) {
  const actual = store.shards.at("context_actual_prompt_tokens", shard);
  if (typeof actual === "number") return actual;
  const regime = store.json.regime[shard] ?? {};
  if (typeof regime.prompt_tokens_median === "number") return regime.prompt_tokens_median;
  return regime.prompt_tokens_min === regime.prompt_tokens_max && typeof regime.prompt_tokens_min === "number" ? regime.prompt_tokens_min : null;
}
export function targetTokens(store, shard) {
  const asked = store.shards.at("context_requested_prompt_tokens", shard);
  return typeof asked === "number" ? asked : promptTokens(store, shard);
}

/**
 * Curves over the prompt length, one panel a kind and basis: {kind, basis, unit, curves: [{id, points: [[x, y, row]]}]}.
 * A curve is one series but for its prompt length; each point is its latest run at that length. Runs without a figure
 * are in `tiles`, at the length that was asked for.
 */
export function contextPanels(store, pass) {
  const panels = new Map();
  for (const row of passingRows(store, pass)) {
    const combo = comboOf(store, row);
    const kind = kindOf(combo);
    const x = kind && promptTokens(store, store.rowShard[row]);
    if (!kind || x === null) continue;
    const key = `${kKinds.indexOf(kind)}|${combo.basis}|${combo.unit}`;
    if (!panels.has(key)) panels.set(key, { key, kind, basis: combo.basis, unit: combo.unit, curves: new Map() });
    const curves = panels.get(key).curves;
    const id = curveCode(store, row);
    if (!curves.has(id)) curves.set(id, new Map());
    const held = curves.get(id).get(x);
    if (held === undefined || store.time[store.rowShard[row]] >= store.time[store.rowShard[held]]) curves.get(id).set(x, row);
  }
  const list = [...panels.values()].sort((a, b) => collate(a.key, b.key));
  for (const panel of list) {
    panel.curves = [...panel.curves].map(([id, points]) => ({ id, points: [...points].sort((a, b) => a[0] - b[0]).map(([x, row]) => [x, store.value[row], row]) }));
  }
  return list;
}

/** The curves of all panels, each once, those with most points first; named: {id, label, latest}. */
export function namedCurves(store, panels, max) {
  const found = new Map();
  for (const panel of panels) {
    for (const curve of panel.curves) {
      const held = found.get(curve.id);
      if (held) held.size += curve.points.length;
      else found.set(curve.id, { id: curve.id, code: curve.id, size: curve.points.length, latest: curve.points[curve.points.length - 1][2], rows: [] });
    }
  }
  const list = [...found.values()].sort((a, b) => b.size - a.size || byName(store, a, b)).slice(0, max);
  nameSeries(store, list, ["prompt"]);
  return { list, count: found.size };
}

// Everything that a series is, without its prompt length; as a number.
function curveCode(store, row) {
  store.curves ??= dictionary(store.n, (i) => kCurveFacts.map((name) => store.facts[name].codes[i]).join("|"));
  return store.curves.codes[store.rowShard[row]] * store.rows.column("name").values.length + store.rows.column("name").codes[row];
}
const kCurveFacts = ["model", "machine", "accelerator", "engine", "backend", "quantization", "variant", "window", "output",
  "concurrency", "effort", "prefix_policy", "thinking", "streaming", "profile", "env_class"];

export function campaigns(store, pass) {
  const found = new Map();
  const codes = store.dims.campaign;
  for (let i = 0; i < store.n; ++i) {
    if (!pass[i]) continue;
    const id = codes.at(i);
    if (id === null) continue;
    const held = found.get(id) ?? { id, runs: 0, last: -Infinity };
    held.runs++;
    held.last = Math.max(held.last, store.time[i] || -Infinity);
    found.set(id, held);
  }
  return [...found.values()].sort((a, b) => b.last - a.last || collate(a.id, b.id));
}

/** profile × configured window down, prompt target across. A cell is its latest run; earlier ones are counted. */
export function campaignMatrix(store, pass, id) {
  const lines = new Map();
  const targets = new Set();
  const counts = new Map();
  for (let i = 0; i < store.n; ++i) {
    if (!pass[i] || store.dims.campaign.at(i) !== id) continue;
    const profile = store.shards.at("campaign_profile", i) ?? store.dims.model.at(i) ?? "(no profile)";
    const window = store.shards.at("context_configured_window_tokens", i);
    const target = targetTokens(store, i);
    targets.add(target);
    const key = `${profile}\u001f${window ?? ""}`;
    if (!lines.has(key)) lines.set(key, { profile: String(profile), window, cells: new Map() });
    const cells = lines.get(key).cells;
    const held = cells.get(target);
    if (held === undefined) cells.set(target, { shard: i, earlier: 0 });
    else {
      held.earlier++;
      if (store.time[i] > store.time[held.shard]) held.shard = i;
    }
  }
  for (const line of lines.values()) {
    for (const cell of line.cells.values()) {
      cell.status = statusOf(store, cell.shard);
      cell.reason = reasonOf(store, cell.shard);
      cell.name = shardName(store, cell.shard);
      cell.contact = store.json.cache[cell.shard]?.initial_model_state ?? null;
      cell.figures = cell.status === "success" ? cellFigures(store, cell.shard) : {};
      counts.set(cell.status, (counts.get(cell.status) ?? 0) + 1);
    }
  }
  const list = [...lines.values()].sort((a, b) => collate(a.profile, b.profile) || (a.window ?? 0) - (b.window ?? 0));
  return { lines: list, counts, targets: [...targets].sort((a, b) => (a ?? Infinity) - (b ?? Infinity)) };
}

/** {cumulative, decode, prefill, ttft: row} and what the first, unmeasured request cost (`cold`), from one run. */
export function cellFigures(store, shard) {
  const out = {};
  for (const row of rowsOfShard(store, shard)) {
    const combo = comboOf(store, row);
    if (!combo || Number.isNaN(store.value[row])) continue;
    const phase = tagsOf(store, row).phase;
    if (combo.name.includes("readiness") || phase === "readiness" || phase === "first_request" || combo.metric.startsWith("readiness_")) {
      out.cold ??= row;
      continue;
    }
    const kind = kindOf(combo);
    if (kind && out[kind] === undefined) out[kind] = row;
  }
  return out;
}

/** Long form of rows, for download: one line a row with everything that its meaning needs. */
export const kLongHeader = ["path", "evidence", "era", "weights", "timestamp", "suite", "model", "machine", "engine", "backend", "quantization",
  "name", "metric", "value", "unit", "rate_basis", "prompt", "output_budget", "concurrency", "prefix_policy", "thinking", "reasoning_effort",
  "env_class", "campaign_id", "cell_status", "configured_window_tokens", "actual_prompt_tokens", "git_sha", "tags_json"];
export function longRow(store, row, evidence) {
  const shard = store.rowShard[row];
  const combo = comboOf(store, row) ?? { name: store.rows.at("name", row), metric: store.rows.at("metric", row), unit: store.rows.at("unit", row), basis: "" };
  const at = (name) => store.shards.at(name, shard);
  const facts = store.regime[shard];
  return [at("path"), evidence, at("era"), store.dims.weights.at(shard), at("timestamp"), at("suite"), at("model"), store.dims.machine.at(shard),
    store.dims.engine.at(shard), store.dims.backend.at(shard), at("quantization"), combo.name, combo.metric,
    Number.isNaN(store.value[row]) ? null : store.value[row], combo.unit, combo.basis || null, facts.prompt, facts.max_tokens, facts.concurrency,
    facts.prefix_policy, facts.thinking, at("reasoning_effort"), at("env_class"), at("campaign_id"), at("cell_status"),
    at("context_configured_window_tokens"), at("context_actual_prompt_tokens"), at("git_sha"), store.rows.at("tags_json", row)];
}

export function windowName(window) {
  return isMissing(window) ? "window not stated" : `${formatCount(window)} window`;
}
