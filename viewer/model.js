// From the index to what may be shown together: evidence, dimensions, filters, selectors, series. Pure: no DOM, no
// network, no clock. Runs under node.
//
// In:     the index JSON (docs/view.md)
// Out:    Store (built once), then small arrays of row and shard numbers
// Cost    10,000 shards: store once, about a quarter of a second; a filter change some milliseconds
import { dictionary, IndexError, Table } from "./columns.js";
import { collate, formatCount, formatTime, isMissing, lowerIsBetter, promptBucket, promptRange, shortModel } from "./format.js";

export const kEvidence = ["scored", "experimental", "recovered", "invalid"];
export const kSuites = ["throughput", "ttft", "tool-calling", "code-accuracy", "framework-eval", "capability-comparison",
  "coding", "reasoning", "knowledge", "evalplus", "math-hard", "promptstack", "grounded-summary"];
export const kHeadline = "throughput_total_toks_per_s";
const kTieBreak = [kHeadline, "composite", "decode_toks_per_s", "throughput_output_toks_per_s", "ttft_p50_ms"];
const kRateUnits = new Set(["tok/s", "req/s"]);

/** Conditions that make two cumulative figures comparable: all equal, or not comparable. */
export const kRegimeFields = ["prompt", "max_tokens", "concurrency", "prefix_policy", "thinking", "streaming"];
export const kRegimeNames = {
  prompt: "prompt tokens", max_tokens: "output budget", concurrency: "concurrency", prefix_policy: "prefix policy",
  thinking: "thinking", streaming: "streaming", rate_basis: "rate basis",
};

// Settings of a tool that make two rows of one run different measurements.
const kConfigTags = ["track_id", "ratio_of", "n_threads", "n_batch", "n_ubatch", "n_gpu_layers", "n_depth", "n_prompt", "n_gen", "type_k",
  "type_v", "flash_attn", "split_mode", "strategy", "streams", "rate", "request_rate", "max_concurrency", "concurrency",
  "width", "prompt_set", "phase", "effective_spec_mode", "num_fewshot", "n_limit", "max_gen_toks", "task_version"];

/** Dimensions one can filter by, in the order they are shown. */
export const kDimensions = [
  ["model", "Model"], ["machine", "Machine"], ["accelerator", "Accelerator"], ["engine", "Engine"],
  ["backend", "Backend"], ["quantization", "Quantisation"], ["concurrency", "Agents"],
  ["window", "Allocated context"], ["actual", "Actual context"], ["prompt", "Prompt tokens"],
  ["output", "Output budget"], ["prefix_policy", "Prefix cache"], ["thinking", "Thinking"], ["effort", "Effort"],
  ["env_class", "Environment"], ["campaign", "Campaign"], ["status", "Status"], ["weights", "Weights"], ["era", "Era"],
];
/** What a series is, beside the row's own basis, unit and settings. */
const kIdentity = ["model", "machine", "accelerator", "engine", "backend", "quantization", "variant", "context_band", "window",
  "prompt", "output", "concurrency", "effort", "prefix_policy", "thinking", "streaming", "profile"];

export function parseJson(text) {
  if (typeof text !== "string") return null;
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}
const known = (value) => (isMissing(value) ? null : String(value));
const positive = (value) => (typeof value === "number" && value > 0 ? value : null);

/** The index's word, unless there is no readable index: then nothing is known to be more than experimental. */
export function evidenceOf(indexState, evidence) {
  if (indexState !== "ok") return "experimental";
  return kEvidence.includes(evidence) ? evidence : "experimental";
}

// One result published twice counts once: the canonical twin stands for its plain one, and the same envelope written
// by another library version is the same result.
function findTwins(shards) {
  const twin = new Uint8Array(shards.count);
  const paths = shards.column("path"), envelopes = shards.column("envelope_sha256");
  const isCanonical = (path) => path.includes("/run-canonical-run-");
  const plain = (path) => path.replace("/run-canonical-run-", "/run-").replace(/-[0-9a-f]{8,16}\.parquet$/, "");
  const canonical = new Set(paths.values.map(String).filter(isCanonical).map(plain));
  const seen = new Set();
  for (let i = 0; i < shards.count; ++i) {
    const path = String(paths.at(i) ?? "");
    const envelope = envelopes.at(i);
    if (canonical.size > 0 && !isCanonical(path) && canonical.has(plain(path))) twin[i] = 1;
    else if (envelope !== null && seen.has(envelope)) twin[i] = 1;
    else if (envelope !== null) seen.add(envelope);
  }
  return twin;
}

function regimeFacts(shards, i, json) {
  const regime = json.regime[i] ?? {};
  const cache = json.cache[i] ?? {};
  const actual = shards.at("context_actual_prompt_tokens", i);
  const low = regime.prompt_tokens_min ?? regime.prompt_tokens_median ?? actual;
  const high = regime.prompt_tokens_max ?? regime.prompt_tokens_median ?? actual;
  const thinking = known(regime.think_value) ?? known(regime.thinking);
  return {
    prompt: promptRange(low ?? high, high ?? low),
    max_tokens: positive(regime.max_tokens) ?? positive(shards.at("context_output_reservation_tokens", i)) ??
                positive(shards.at("max_output_tokens", i)),
    concurrency: positive(shards.at("concurrency", i)) ?? positive(regime.concurrency),
    prefix_policy: known(shards.at("prefix_policy", i)) ?? known(cache.prefix_policy),
    thinking,
    streaming: typeof regime.streaming === "boolean" ? (regime.streaming ? "streaming" : "not streaming") : null,
    basis: known(shards.at("rate_basis", i)) ?? known(regime.rate_basis),
  };
}

// Parsed values of a JSON column, one a row (equal texts share one object).
function parsedRows(column, count) {
  const values = column.values.map(parseJson);
  const out = new Array(count);
  for (let i = 0; i < count; ++i) out[i] = column.codes[i] < 0 ? null : values[column.codes[i]];
  return out;
}

export function buildStore(index) {
  if (!index || typeof index !== "object" || index.format !== "assay-view-1") {
    throw new IndexError(`INDEX-FORMAT: expected an index of format assay-view-1, found ${JSON.stringify(index?.format ?? null)}`);
  }
  const shards = new Table(index.shards, "shards");
  const rows = new Table(index.rows, "rows");
  const n = shards.count;
  const store = { index, shards, rows, n, m: rows.count, problems: index.problems ?? [] };

  store.evidence = new Uint8Array(n);
  const state = index.index?.state ?? "missing";
  for (let i = 0; i < n; ++i) store.evidence[i] = kEvidence.indexOf(evidenceOf(state, shards.at("evidence", i)));
  store.twin = findTwins(shards);
  store.time = new Float64Array(n);
  const stamps = shards.column("timestamp");
  const times = stamps.values.map((text) => Date.parse(text));
  for (let i = 0; i < n; ++i) store.time[i] = stamps.codes[i] < 0 ? NaN : times[stamps.codes[i]];

  const json = {};
  for (const name of ["regime", "cache", "control", "provenance"]) json[name] = parsedRows(shards.column(`${name}_json`), n);
  for (const name of ["gpu", "engine", "serving"]) json[name] = parsedRows(shards.column(name), n);
  store.json = json;
  indexRows(store);

  const regime = new Array(n);
  for (let i = 0; i < n; ++i) regime[i] = regimeFacts(shards, i, json);
  store.regime = regime;

  const text = (name) => shards.column(name).map(known);
  const tokens = (name) => shards.column(name).map((v) => (typeof v === "number" ? formatCount(v) : null));
  const tags = (i) => firstTags(store, i);
  const chip = text("chip");
  const memory = shards.column("memory_gb");
  store.dims = {
    model: shards.column("model").map((v) => known(v) && shortModel(String(v))),
    machine: dictionary(n, (i) => chip.at(i) && chip.at(i) + (memory.at(i) > 0 ? ` · ${memory.at(i)} GB` : "")),
    accelerator: dictionary(n, (i) => known(json.gpu[i]?.model)),
    engine: dictionary(n, (i) => known(json.engine[i]?.name) ?? known(json.serving[i]?.stack)),
    backend: dictionary(n, (i) => known(tags(i).backends) ?? known(tags(i).backend) ?? known(tags(i).engine_device)),
    quantization: text("quantization"),
    concurrency: dictionary(n, (i) => regime[i].concurrency).map(formatCount),
    window: tokens("context_configured_window_tokens"),
    actual: shards.column("context_actual_total_tokens").map((v) => promptBucket(v)),
    prompt: dictionary(n, (i) => regime[i].prompt),
    output: dictionary(n, (i) => regime[i].max_tokens).map(formatCount),
    prefix_policy: dictionary(n, (i) => regime[i].prefix_policy),
    thinking: dictionary(n, (i) => regime[i].thinking),
    effort: text("reasoning_effort"),
    env_class: text("env_class"),
    campaign: text("campaign_id"),
    status: text("cell_status"),
    weights: dictionary(n, (i) => (shards.at("weights", i) === "verified" ? "verified" : "unverified")),
    era: text("era"),
  };
  if (store.dims.actual.values.length === 0) store.dims.actual = shards.column("context_actual_prompt_tokens").map((v) => promptBucket(v));
  store.facts = { ...store.dims, variant: text("variant"), context_band: text("context_band"), profile: text("campaign_profile"),
    streaming: dictionary(n, (i) => regime[i].streaming) };
  for (const dim of Object.values(store.dims)) {
    dim.order = dim.values.map((_, code) => code).sort((a, b) => collate(dim.values[a], dim.values[b]));
  }
  store.identity = dictionary(n, (i) => kIdentity.map((name) => store.facts[name].codes[i]).join("|"));
  return store;
}

// Rows grouped by their shard, their selector (name, metric, unit, basis), and what is internal to a sealed run.
function indexRows(store) {
  const { rows, n, m } = store;
  const shard = rows.column("shard");
  store.rowShard = new Int32Array(m);
  for (let r = 0; r < m; ++r) {
    const at = shard.at(r);
    if (!Number.isInteger(at) || at < 0 || at >= n) throw new IndexError(`INDEX-FORMAT: row ${r} names shard ${at} of ${n}`);
    store.rowShard[r] = at;
  }
  store.value = rows.numbers("value");
  store.rowStart = new Int32Array(n + 1);
  for (let r = 0; r < m; ++r) store.rowStart[store.rowShard[r] + 1]++;
  for (let i = 0; i < n; ++i) store.rowStart[i + 1] += store.rowStart[i];
  store.rowOrder = new Int32Array(m);
  const next = store.rowStart.slice();
  for (let r = 0; r < m; ++r) store.rowOrder[next[store.rowShard[r]]++] = r;

  const names = rows.column("name"), metrics = rows.column("metric"), units = rows.column("unit");
  const tagText = rows.column("tags_json");
  const rowBasis = rows.column("rate_basis"), runBasis = store.shards.column("rate_basis");
  // For an index without a row's own basis: among the tags. Inside a JSON string its quotes would be escaped.
  const tagBasis = rows.has("rate_basis") ? null : tagText.map((text) => /[{,]"rate_basis":"([^"\\]+)"/.exec(text)?.[1]);
  store.combos = [];
  store.rowCombo = new Int32Array(m);
  const seen = new Map();
  const sealed = new Uint8Array(n);
  for (let r = 0; r < m; ++r) if (names.at(r) === "seal" && metrics.at(r) === "weights_bytes") sealed[store.rowShard[r]] = 1;
  store.sealed = sealed;
  const internal = new Set(["leg", "gate", "correctness", "seal"]);
  for (let r = 0; r < m; ++r) {
    const unit = units.at(r), name = names.at(r);
    if (unit === "status" || (internal.has(name) && sealed[store.rowShard[r]])) {
      store.rowCombo[r] = -1;
      continue;
    }
    const basis = !kRateUnits.has(unit) ? "" : known(rowBasis.at(r)) ?? known(tagBasis?.at(r)) ?? known(runBasis.at(store.rowShard[r])) ?? "";
    const key = `${names.codes[r]}|${metrics.codes[r]}|${units.codes[r]}|${basis}`;
    let combo = seen.get(key);
    if (combo === undefined) {
      combo = store.combos.length;
      seen.set(key, combo);
      store.combos.push({ name: name ?? "", metric: metrics.at(r) ?? "", unit: unit ?? "", basis });
    }
    store.rowCombo[r] = combo;
  }
  const parsed = (column) => ({ codes: column.codes, texts: column.values, objects: new Array(column.values.length) });
  store.tags = { row: parsed(tagText), run: parsed(store.shards.column("tags_json")), merged: new Array(m) };
}

function tagObject({ codes, texts, objects }, at) {
  const code = codes[at];
  return code < 0 ? null : (objects[code] ??= parseJson(texts[code]) ?? {});
}

/** The row's tags: those of its run, with what the row has otherwise (null: not at all). An object, never to be changed. */
export function tagsOf(store, row) {
  const held = store.tags.merged[row];
  if (held !== undefined) return held;
  const run = tagObject(store.tags.run, store.rowShard[row]);
  const own = tagObject(store.tags.row, row);
  let tags = run ?? own ?? {};
  if (run && own) {
    tags = { ...run, ...own };
    for (const [key, value] of Object.entries(own)) if (value === null) delete tags[key];
  }
  return (store.tags.merged[row] = tags);
}
function firstTags(store, shard) {
  const at = store.rowStart[shard];
  return at < store.rowStart[shard + 1] ? tagsOf(store, store.rowOrder[at]) : tagObject(store.tags.run, shard) ?? {};
}
export function rowsOfShard(store, shard) {
  return store.rowOrder.subarray(store.rowStart[shard], store.rowStart[shard + 1]);
}
export function comboOf(store, row) {
  const combo = store.rowCombo[row];
  return combo < 0 ? null : store.combos[combo];
}
export function shardName(store, shard) {
  return store.shards.at("name", shard) ?? String(store.shards.at("path", shard) ?? "").replace(/^.*\//, "");
}
export function shardByName(store, name) {
  if (!store.byName) {
    store.byName = new Map();
    for (let i = 0; i < store.n; ++i) store.byName.set(shardName(store, i), i);
  }
  return store.byName.get(name) ?? -1;
}

/** Runs in each evidence class. */
export function evidenceCounts(store) {
  const counts = kEvidence.map(() => 0);
  for (let i = 0; i < store.n; ++i) if (!store.twin[i]) counts[store.evidence[i]]++;
  return counts;
}
export function firstEvidence(store) {
  const at = evidenceCounts(store).findIndex((count) => count > 0);
  return kEvidence[at < 0 ? 0 : at];
}

/** Suites of an evidence class with their run counts; suites without data stay in the list with 0. */
export function suiteCounts(store, evidence) {
  const class_ = kEvidence.indexOf(evidence);
  const suites = store.shards.column("suite");
  const counts = new Map(kSuites.map((suite) => [suite, 0]));
  for (let i = 0; i < store.n; ++i) {
    if (store.twin[i] || store.evidence[i] !== class_) continue;
    const suite = suites.at(i) ?? "";
    counts.set(suite, (counts.get(suite) ?? 0) + 1);
  }
  return counts;
}

/**
 * Which runs pass, and what each filter still offers. A filter's own choice does not narrow its own list, every
 * other choice does.
 *
 * state   {ev, suite, from, to, filters: {dimension: [label…]}}; label "" is "not stated"
 * returns {pass [n] 0|1, count, options: {dimension: [{label, count, chosen}]}}
 */
export function applyFilters(store, state) {
  const { n } = store;
  const class_ = kEvidence.indexOf(state.ev);
  const suites = store.shards.column("suite");
  const suite = suites.values.indexOf(state.suite);
  const from = state.from ? Date.parse(`${state.from}T00:00:00Z`) : -Infinity;
  const to = state.to ? Date.parse(`${state.to}T23:59:59.999Z`) : Infinity;
  const dated = state.from || state.to;
  const fails = new Uint8Array(n);
  const which = new Int8Array(n);
  for (let i = 0; i < n; ++i) {
    if (store.twin[i] || store.evidence[i] !== class_ || suites.codes[i] !== suite || suite < 0 ||
        (dated && !(store.time[i] >= from && store.time[i] <= to))) fails[i] = 2;
  }
  kDimensions.forEach(([name], d) => {
    const chosen = state.filters?.[name];
    if (!chosen || chosen.length === 0) return;
    const { values, codes } = store.dims[name];
    const allowed = new Uint8Array(values.length + 1);
    allowed[0] = chosen.includes("") ? 1 : 0;
    values.forEach((value, code) => { allowed[code + 1] = chosen.includes(value) ? 1 : 0; });
    for (let i = 0; i < n; ++i) {
      if (fails[i] < 2 && !allowed[codes[i] + 1]) {
        fails[i]++;
        which[i] = d;
      }
    }
  });
  const options = {};
  kDimensions.forEach(([name], d) => {
    const { values, codes } = store.dims[name];
    const counts = new Int32Array(values.length + 1);
    for (let i = 0; i < n; ++i) if (fails[i] === 0 || (fails[i] === 1 && which[i] === d)) counts[codes[i] + 1]++;
    const chosen = state.filters?.[name] ?? [];
    const list = [];
    for (const code of store.dims[name].order) {
      const label = values[code];
      if (counts[code + 1] > 0 || chosen.includes(label)) list.push({ label, count: counts[code + 1], chosen: chosen.includes(label) });
    }
    if (counts[0] > 0 || chosen.includes("")) list.push({ label: "", count: counts[0], chosen: chosen.includes("") });
    options[name] = list;
  });
  const pass = new Uint8Array(n);
  let count = 0;
  for (let i = 0; i < n; ++i) if (fails[i] === 0) pass[i] = 1, ++count;
  return { pass, count, options };
}

/** Combinations that exist among the passing runs, with how many runs and models have them; best first. */
export function availableCombos(store, pass) {
  const runs = new Int32Array(store.combos.length);
  const { codes, values } = store.dims.model;
  const models = store.combos.map(() => new Uint8Array(values.length + 1));
  for (let r = 0; r < store.m; ++r) {
    const combo = store.rowCombo[r];
    const shard = store.rowShard[r];
    if (combo < 0 || !pass[shard] || Number.isNaN(store.value[r])) continue;
    runs[combo]++;
    models[combo][codes[shard] + 1] = 1;
  }
  const weight = (metric) => {
    const at = kTieBreak.indexOf(metric);
    return at < 0 ? kTieBreak.length : at;
  };
  return store.combos.map((combo, id) => ({ ...combo, id, rows: runs[id], models: models[id].reduce((a, b) => a + b, 0) }))
    .filter((combo) => combo.rows > 0)
    .sort((a, b) => (b.metric === kHeadline) - (a.metric === kHeadline) || b.models - a.models ||
                    weight(a.metric) - weight(b.metric) || b.rows - a.rows || a.id - b.id);
}

/** The combination that the selectors name; missing or impossible choices fall to the best that exists. */
export function chooseCombo(combos, want) {
  let left = combos;
  for (const key of ["name", "metric", "unit", "basis"]) {
    if (want[key] === undefined || want[key] === null) continue;
    const kept = left.filter((combo) => combo[key] === want[key]);
    if (kept.length > 0) left = kept;
  }
  return left[0] ?? null;
}

export function selectRows(store, pass, comboId) {
  const out = [];
  for (let r = 0; r < store.m; ++r) {
    if (store.rowCombo[r] === comboId && pass[store.rowShard[r]] && !Number.isNaN(store.value[r])) out.push(r);
  }
  return out;
}

// Per run, once: what its regime leaves unsaid, and the code of its regime without the basis. Suites that do not
// measure speed have no regime to state.
function regimes(store) {
  if (store.regimes) return store.regimes;
  const suites = store.shards.column("suite");
  const speed = (i) => suites.at(i) === "throughput" || suites.at(i) === "ttft";
  const needed = ["prompt", "max_tokens", "concurrency", "prefix_policy"];
  const gaps = store.regime.map((facts, i) => (speed(i) ? needed.filter((name) => facts[name] === null) : []));
  const key = dictionary(store.n, (i) => (speed(i) ? kRegimeFields.map((name) => store.regime[i][name] ?? "").join("\u001f") : null));
  store.regimes = { speed, gaps, key };
  return store.regimes;
}

/** Names of what a cumulative figure needs and the run does not state; empty when the regime is complete. */
export function regimeGaps(store, row) {
  const shard = store.rowShard[row];
  const { speed, gaps } = regimes(store);
  if (!speed(shard)) return [];
  const combo = comboOf(store, row);
  const noBasis = combo !== null && kRateUnits.has(combo.unit) && combo.basis === "";
  const unstated = tagsOf(store, row).regime === "unstated";
  if (!noBasis && !unstated && gaps[shard].length === 0) return [];
  const names = noBasis ? [...gaps[shard], "rate_basis"] : gaps[shard].slice();
  if (names.length === 0) names.push("prompt");
  return names.map((name) => kRegimeNames[name]);
}

/** Equal keys: comparable conditions, field by field and in their basis. */
export function regimeKey(store, row) {
  const code = regimes(store).key.codes[store.rowShard[row]];
  return code < 0 ? "" : `${code}|${comboOf(store, row)?.basis ?? ""}`;
}

export function regimeText(store, row) {
  const facts = store.regime[store.rowShard[row]];
  const parts = [];
  if (facts.prompt !== null) parts.push(`prompt ${facts.prompt}`);
  if (facts.max_tokens !== null) parts.push(`output ≤ ${formatCount(facts.max_tokens)}`);
  if (facts.concurrency !== null) parts.push(`${formatCount(facts.concurrency)} in flight`);
  if (facts.prefix_policy !== null) parts.push(facts.prefix_policy.replaceAll("_", " "));
  if (facts.thinking !== null) parts.push(`thinking ${facts.thinking}`);
  if (facts.streaming !== null) parts.push(facts.streaming);
  const basis = comboOf(store, row)?.basis;
  if (basis) parts.push(basis.replaceAll("_", " "));
  return parts.join(" · ");
}

/** Why this row takes no rank beside others of its evidence class; empty when it does. */
export function rankProblems(store, row) {
  const shard = store.rowShard[row];
  const out = [];
  if (store.dims.weights.at(shard) !== "verified") out.push("weights unverified");
  const gaps = regimeGaps(store, row);
  if (gaps.length > 0) out.push(`regime unstated: ${gaps.join(", ")}`);
  if (!isMissing(store.shards.at("superseded_by", shard))) out.push("superseded");
  return out;
}

// min and max of the probe's medians: tag prefix and the factor to the row's unit.
const kSpread = {
  throughput_total_toks_per_s: ["cumulative_tok_s", 1], throughput_output_toks_per_s: ["decode_tok_s", 1],
  decode_toks_per_s: ["decode_tok_s", 1], throughput_prompt_toks_per_s: ["prefill_tok_s", 1],
  ttft_p50_ms: ["ttft_s", 1000], request_duration_p50_s: ["total_s", 1],
};
const number = (text) => {
  const value = typeof text === "string" && text.trim() !== "" ? Number(text) : NaN;
  return Number.isFinite(value) ? value : null;
};

/** {low, high, kind} of a row, or null when it carries none. */
export function intervalOf(store, row) {
  const tags = tagsOf(store, row);
  const value = store.value[row];
  const combo = comboOf(store, row);
  const pair = (low, high, kind) => (low === null || high === null ? null : { low, high, kind });
  const spread = combo && Object.hasOwn(kSpread, combo.metric) ? kSpread[combo.metric] : null;
  if (spread) {
    const low = number(tags[`${spread[0]}_min`]), high = number(tags[`${spread[0]}_max`]);
    if (low !== null && high !== null) return pair(low * spread[1], high * spread[1], "min–max");
  }
  if (combo) {
    const found = pair(number(tags[`${combo.metric}_low`]), number(tags[`${combo.metric}_high`]), "95 % interval");
    if (found) return found;
  }
  const deviation = number(tags.stddev_ts);
  if (deviation !== null) return { low: value - deviation, high: value + deviation, kind: "± 1 standard deviation" };
  const error = number(tags.stderr);
  if (error !== null) return { low: value - error, high: value + error, kind: "± 1 standard error" };
  return null;
}

/** What a reader must see beside the value: failures, empty answers, a run that did not pass. */
export function flagsOf(store, row) {
  const tags = tagsOf(store, row);
  const flags = [];
  const failed = number(tags.failed_requests) ?? number(tags.n_err) ?? number(tags.errored);
  if (failed !== null && failed > 0) flags.push(`${formatCount(failed)} failed request${failed === 1 ? "" : "s"}`);
  const incomplete = number(tags.incomplete);
  if (incomplete !== null && incomplete > 0) flags.push(`${formatCount(incomplete)} incomplete`);
  const answered = number(tags.answered_rate);
  if (answered !== null && answered < 1) flags.push(`answered ${Math.floor(answered * 100)} %`);
  if (tags.partial === "true") flags.push("partial run");
  if (tags.passed === "false") flags.push("run did not pass");
  return flags;
}
export function failedRequests(store, row) {
  const tags = tagsOf(store, row);
  return Math.max(0, number(tags.failed_requests) ?? number(tags.n_err) ?? number(tags.errored) ?? 0);
}

// Code of the row's settings.
function configCode(store, row) {
  store.configs ??= { codes: new Int32Array(store.m).fill(-1), seen: new Map([["", 0]]) };
  if (store.configs.codes[row] < 0) {
    const tags = tagsOf(store, row);
    let key = "";
    for (const name of kConfigTags) if (tags[name] !== undefined) key += `${name}=${tags[name]}\u001f`;
    if (!store.configs.seen.has(key)) store.configs.seen.set(key, store.configs.seen.size);
    store.configs.codes[row] = store.configs.seen.get(key);
  }
  return store.configs.codes[row];
}

/** Series of a row without metric, unit and basis, as a small number. A row whose regime is incomplete is alone with its run. */
export function seriesCode(store, row) {
  store.series ??= { codes: new Int32Array(store.m).fill(-1), seen: new Map() };
  if (store.series.codes[row] < 0) {
    const shard = store.rowShard[row];
    const alone = regimeGaps(store, row).length > 0 ? `!${shard}` : "";
    const key = `${store.identity.codes[shard]}|${store.facts.env_class.codes[shard]}|${configCode(store, row)}${alone}`;
    if (!store.series.seen.has(key)) store.series.seen.set(key, store.series.seen.size);
    store.series.codes[row] = store.series.seen.get(key);
  }
  return store.series.codes[row];
}

/** Rows as series, each in order of time (superseded runs left out); the order of series is that of their first row. */
export function seriesOf(store, rowIds, { names = true, without = [] } = {}) {
  const byKey = new Map();
  for (const row of rowIds) {
    if (!isMissing(store.shards.at("superseded_by", store.rowShard[row]))) continue;
    const code = seriesCode(store, row) * store.combos.length + store.rowCombo[row];
    let series = byKey.get(code);
    if (!series) byKey.set(code, (series = { code, rows: [] }));
    series.rows.push(row);
  }
  const list = [...byKey.values()];
  for (const series of list) {
    series.rows.sort((a, b) => store.time[store.rowShard[a]] - store.time[store.rowShard[b]] || a - b);
    series.latest = series.rows[series.rows.length - 1];
    series.model = store.facts.model.at(store.rowShard[series.latest]) ?? "(no model)";
  }
  if (names) nameSeries(store, list, without);
  return list;
}

const kPartNames = { window: (v) => `window ${v}`, prompt: (v) => `prompt ${v}`, output: (v) => `output ${v}`,
  concurrency: (v) => `${v} in flight`, effort: (v) => `effort ${v}`, thinking: (v) => `thinking ${v}` };

// A series is called by its model and by whatever tells it from the others that are shown beside it.
export function nameSeries(store, list, without = []) {
  if (list.length === 0) return;
  const lead = store.rowShard[list[0].latest];
  const parts = [...kIdentity.slice(1), "env_class"].filter((name) => {
    if (without.includes(name)) return false;
    const codes = store.facts[name].codes;
    return list.some((s) => codes[store.rowShard[s.latest]] !== codes[lead]);
  });
  const settings = list.some((s) => configCode(store, s.latest) !== configCode(store, list[0].latest));
  const varying = !settings ? [] : kConfigTags.filter((name) => {
    const first = tagsOf(store, list[0].latest)[name];
    return list.some((s) => tagsOf(store, s.latest)[name] !== first);
  });
  const seen = new Map();
  for (const series of list) {
    const shard = store.rowShard[series.latest];
    const tags = varying.length > 0 ? tagsOf(store, series.latest) : {};
    const words = [];
    for (const name of parts) {
      const value = store.facts[name].at(shard);
      if (value !== null) words.push(kPartNames[name] ? kPartNames[name](value) : value.replaceAll("_", " "));
    }
    for (const name of varying) if (!isMissing(tags[name])) words.push(`${name.replaceAll("_", " ")} ${tags[name]}`);
    series.model = store.facts.model.at(shard) ?? "(no model)";
    const twin = `${series.model}|${words.join("|")}|${comboOf(store, series.latest)?.name}`;
    if (seen.has(twin)) words.push(`run ${formatTime(store.time[shard])}`);  // incomplete regimes look alike and stay apart
    seen.set(twin, true);
    series.detail = words.join(" · ");
    series.label = series.detail ? `${series.model} · ${series.detail}` : series.model;
  }
}

/**
 * Series in groups of one regime. Inside: ranked (best first) if `ranking`, then the rest by name, never by value.
 * Only what will be shown is named: call nameSeries on it.
 */
export function compareGroups(store, rowIds, { ranking }) {
  const groups = new Map();
  for (const series of seriesOf(store, rowIds, { names: false })) {
    const key = regimeKey(store, series.latest);
    if (!groups.has(key)) groups.set(key, { key, regime: regimeText(store, series.latest), gaps: regimeGaps(store, series.latest), ranked: [], unranked: [] });
    series.value = store.value[series.latest];
    series.problems = rankProblems(store, series.latest);
    const group = groups.get(key);
    (ranking && series.problems.length === 0 ? group.ranked : group.unranked).push(series);
  }
  const list = [...groups.values()];
  for (const group of list) {
    const lead = group.ranked[0]?.latest;
    const combo = lead === undefined ? null : comboOf(store, lead);
    const lower = combo !== null && lowerIsBetter(combo.metric, combo.unit, tagsOf(store, lead).higher_is_better);
    group.lower = lower;
    group.ranked.sort((a, b) => (lower ? a.value - b.value : b.value - a.value) || byName(store, a, b));
    group.ranked.forEach((series, at) => {
      series.rank = at > 0 && series.value === group.ranked[at - 1].value ? group.ranked[at - 1].rank : at + 1;
    });
    group.unranked.sort((a, b) => byName(store, a, b));
  }
  return list.sort((a, b) => b.ranked.length - a.ranked.length || b.unranked.length - a.unranked.length || collate(a.key, b.key));
}

/** Order of series (anything with `latest` and `code`) by model, then by whatever else they are. */
export function byName(store, a, b) {
  const x = store.rowShard[a.latest], y = store.rowShard[b.latest];
  const { codes, order } = store.dims.model;
  store.modelPlace ??= order.reduce((place, code, at) => place.fill(at, code, code + 1), new Int32Array(order.length));
  const place = (shard) => (codes[shard] < 0 ? Infinity : store.modelPlace[codes[shard]]);
  if (place(x) !== place(y)) return place(x) - place(y);
  return collate(store.identity.at(x), store.identity.at(y)) || a.code - b.code;
}

/** Passing runs that have no figure because of what became of them; newest first. */
export function statusRuns(store, pass) {
  const status = store.dims.status;
  const success = status.values.indexOf("success");
  const skipped = store.shards.column("skipped");
  const out = [];
  for (let i = 0; i < store.n; ++i) {
    if (pass[i] && ((status.codes[i] >= 0 && status.codes[i] !== success) || skipped.at(i) === true)) out.push(i);
  }
  return out.sort((a, b) => store.time[b] - store.time[a] || a - b);
}
export function statusOf(store, shard) {
  if (store.shards.at("skipped", shard) === true) return "skipped";
  return store.dims.status.at(shard) ?? "success";
}
export function reasonOf(store, shard) {
  const errors = parseJson(store.shards.at("errors_json", shard));
  return Array.isArray(errors) ? errors.map(String).join("; ") : "";
}

/** One sentence worth of counts: nothing that failed is left out of the picture. */
export function tally(store, pass, rowIds) {
  const statuses = new Map();
  for (const shard of statusRuns(store, pass)) {
    const status = statusOf(store, shard);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  let requests = 0;
  for (const row of rowIds) requests += failedRequests(store, row);
  return { statuses: [...statuses].sort((a, b) => b[1] - a[1]), failed: [...statuses.values()].reduce((a, b) => a + b, 0), requests };
}
