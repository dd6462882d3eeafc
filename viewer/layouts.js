// How selected rows lie in a table, over the prompt length, or in a campaign's matrix. Pure.
import { dictionary } from "./columns.js";
import { collate, formatCount, isMissing } from "./format.js";
import { byName, comboOf, kHeadline, nameSeries, passingRows, readinessOf, reasonOf, rowsOfShard, seriesCode, shardName, statusOf, tagsOf } from "./model.js";

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

/**
 * One line a series, one column a (name, metric, unit, basis); cumulative and decode first, side by side.
 * line.cells[column] is a row (latest of that series and column) or -1. What is shown is named by nameSeries.
 */
export function pivot(store, pass, columnsMax = 12) {
  const { rowCombo, rowShard, time } = store;
  const rows = passingRows(store, pass);
  const uses = new Int32Array(store.combos.length);
  for (const row of rows) uses[rowCombo[row]]++;
  const order = store.combos.map((combo) => {
    const at = kKinds.indexOf(kindOf(combo));
    return at < 0 ? kKinds.length : at;
  });
  const all = [...uses.keys()].filter((id) => uses[id] > 0).sort((a, b) => order[a] - order[b] || uses[b] - uses[a] || a - b);
  const columns = all.slice(0, columnsMax);
  const place = new Int32Array(store.combos.length).fill(-1);
  columns.forEach((id, at) => { place[id] = at; });
  const lines = new Map();
  for (const row of rows) {
    const code = seriesCode(store, row);
    let line = lines.get(code);
    if (!line) lines.set(code, (line = { code, latest: row, place: 0, model: "", cells: new Array(columns.length).fill(-1) }));
    const when = time[rowShard[row]];
    if (when > time[rowShard[line.latest]]) line.latest = row;
    const at = place[rowCombo[row]];
    if (at >= 0 && (line.cells[at] < 0 || when >= time[rowShard[line.cells[at]]])) line.cells[at] = row;
  }
  const list = [...lines.values()];
  for (const line of list) {
    line.place = store.place[rowShard[line.latest]];
    line.model = store.dims.model.at(rowShard[line.latest]) ?? "(no model)";
  }
  return { columns: columns.map((id) => ({ id, ...store.combos[id] })), left: all.length - columns.length, lines: list.sort(byName) };
}

/** The prompt length that a run really had: what the server counted, else what the regime states as one number; or null. */
export function promptTokens(store, shard) {
  store.promptTokens ??= Float64Array.from({ length: store.n }, (_, i) => statedPrompt(store, i) ?? NaN);
  const tokens = store.promptTokens[shard];
  return Number.isNaN(tokens) ? null : tokens;
}
function statedPrompt(store, shard) {
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
 * Curves over the prompt length, one panel a kind and basis: {kind, basis, unit, curves: [{id, xs, rows}]}. A curve is one
 * series but for its prompt length; rows[i] is its latest run at the length xs[i], in no order.
 */
export function contextPanels(store, pass) {
  const { rowCombo, rowShard, time } = store;
  const panels = new Map();
  const panelOf = store.combos.map((combo) => {
    const kind = kindOf(combo);
    if (kind === null) return null;
    const key = `${kKinds.indexOf(kind)}|${combo.basis}|${combo.unit}`;
    if (!panels.has(key)) panels.set(key, { key, kind, basis: combo.basis, unit: combo.unit, byId: new Map() });
    return panels.get(key);
  });
  for (const row of passingRows(store, pass)) {
    const panel = panelOf[rowCombo[row]];
    const x = panel && promptTokens(store, rowShard[row]);
    if (!panel || x === null) continue;
    const id = curveCode(store, row);
    const curve = panel.byId.get(id);
    if (!curve) {
      panel.byId.set(id, { id, xs: [x], rows: [row] });
      continue;
    }
    const at = curve.xs.indexOf(x);
    if (at < 0) {
      curve.xs.push(x);
      curve.rows.push(row);
    } else if (time[rowShard[row]] >= time[rowShard[curve.rows[at]]]) curve.rows[at] = row;
  }
  return [...panels.values()].filter((panel) => panel.byId.size > 0).sort((a, b) => collate(a.key, b.key))
    .map(({ byId, ...panel }) => ({ ...panel, curves: [...byId.values()] }));
}

/** A curve's points [[x, value, row]] in order of x. */
export function pointsOf(store, curve) {
  return curve.xs.map((x, i) => [x, store.value[curve.rows[i]], curve.rows[i]]).sort((a, b) => a[0] - b[0]);
}

/** The curves of all panels, each once, those with most points first; named: {id, label, latest}. */
export function namedCurves(store, panels, max) {
  const found = new Map();
  for (const { curves } of panels) {
    for (const { id, xs, rows } of curves) {
      const held = found.get(id);
      if (held) held.size += xs.length;
      else found.set(id, { id, code: id, size: xs.length, latest: rows[xs.indexOf(xs.length === 1 ? xs[0] : Math.max(...xs))] });
    }
  }
  const list = [...found.values()];
  for (const curve of list) curve.place = store.place[store.rowShard[curve.latest]];
  list.sort((a, b) => b.size - a.size || byName(a, b));
  list.length = Math.min(list.length, max);
  nameSeries(store, list, { without: ["prompt"] });
  return { list, count: found.size };
}

// Everything that a series is, without its prompt length; as a number.
function curveCode(store, row) {
  store.curves ??= { run: dictionary(store.n, (i) => kCurveFacts.map((name) => store.facts[name].codes[i]).join("|")).codes, name: store.rows.column("name").codes,
    names: store.rows.column("name").values.length };
  const { run, name, names } = store.curves;
  return run[store.rowShard[row]] * names + name[row];
}
const kCurveFacts = ["model", "machine", "accelerator", "engine", "backend", "quantization", "variant", "window", "output",
  "concurrency", "effort", "prefix_policy", "thinking", "streaming", "profile", "env_class"];

/** Campaigns of the passing runs, the newest first: [{id, runs, last [ms]}]. */
export function campaigns(store, pass) {
  const { values, codes } = store.dims.campaign;
  const list = values.map((id) => ({ id, runs: 0, last: -Infinity }));
  for (let i = 0; i < store.n; ++i) {
    if (!pass[i] || codes[i] < 0) continue;
    const campaign = list[codes[i]];
    campaign.runs++;
    campaign.last = Math.max(campaign.last, store.time[i] || -Infinity);
  }
  return list.filter((campaign) => campaign.runs > 0).sort((a, b) => b.last - a.last || collate(a.id, b.id));
}

/** profile × configured window down, prompt target across. A cell is its latest run; earlier ones are counted. */
export function campaignMatrix(store, pass, id) {
  const lines = new Map();
  const targets = new Set();
  const counts = new Map();
  const { values, codes } = store.dims.campaign;
  const campaign = values.indexOf(id);
  for (let i = 0; i < store.n; ++i) {
    if (!pass[i] || codes[i] !== campaign || campaign < 0) continue;
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
      cell.readiness = cellReadiness(store, cell.shard);
      cell.figures = cell.status === "success" ? cellFigures(store, cell.shard) : {};
      counts.set(cell.status, (counts.get(cell.status) ?? 0) + 1);
    }
  }
  const list = [...lines.values()].sort((a, b) => collate(a.profile, b.profile) || (a.window ?? 0) - (b.window ?? 0));
  return { lines: list, counts, targets: [...targets].sort((a, b) => (a ?? Infinity) - (b ?? Infinity)) };
}

/** The run's measured figures: {cumulative, decode, prefill, ttft: row}. */
export function cellFigures(store, shard) {
  const out = {};
  for (const row of rowsOfShard(store, shard)) {
    const kind = Number.isNaN(store.value[row]) ? null : kindOf(comboOf(store, row));
    if (kind && out[kind] === undefined) out[kind] = row;
  }
  return out;
}

/**
 * The first request to the server, which no median holds: {state, rows}. `state` says whether the model was loaded by
 * then (cold, resident, unknown; the row's own word, else the run's, else null), `rows` what that request took.
 */
export function cellReadiness(store, shard) {
  const rows = readinessOf(store, shard);
  const said = rows.map((row) => tagsOf(store, row).initial_model_state).find((state) => state !== undefined);
  return { state: said ?? store.json.cache[shard]?.initial_model_state ?? null, rows: rows.filter((row) => !Number.isNaN(store.value[row])) };
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
