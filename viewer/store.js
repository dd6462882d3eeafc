// The index as a Store: evidence, times, conditions and the dimensions one can filter by, one code a run. Pure; built
// once an index. 10,000 shards take about a quarter of a second.
//
// In:     the index JSON (docs/view.md)
// Errors  IndexError: INDEX-FORMAT
import { dictionary, IndexError, Table } from "./columns.js";
import { collate, formatCount, promptBucket, promptRange, shortModel } from "./format.js";
import { firstTags, indexRows, known, parseJson } from "./rows.js";

export const kEvidence = ["scored", "experimental", "recovered", "invalid"];

/** Dimensions one can filter by, in the order they are shown. */
export const kDimensions = [
  ["model", "Model"], ["machine", "Machine"], ["accelerator", "Accelerator"], ["engine", "Engine"],
  ["backend", "Backend"], ["quantization", "Quantisation"], ["concurrency", "Agents"],
  ["window", "Allocated context"], ["actual", "Actual context"], ["prompt", "Prompt tokens"],
  ["output", "Output budget"], ["prefix_policy", "Prefix cache"], ["thinking", "Thinking"], ["effort", "Effort"],
  ["env_class", "Environment"], ["campaign", "Campaign"], ["status", "Status"], ["weights", "Weights"], ["era", "Era"],
];
/** What a series is, beside the row's own basis, unit and settings. */
export const kIdentity = ["model", "machine", "accelerator", "engine", "backend", "quantization", "variant", "context_band", "window",
  "prompt", "output", "concurrency", "effort", "prefix_policy", "thinking", "streaming", "profile"];

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
  store.regime = Array.from({ length: n }, (_, i) => regimeFacts(shards, i, json));
  indexRows(store);
  addFacts(store);
  return store;
}

// Each fact of a run as a code, and the order of its values.
function addFacts(store) {
  const { shards, n, json, regime } = store;
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
  for (const fact of Object.values(store.facts)) {
    const plain = fact.values.map((value) => value.replace(/(\d),(?=\d{3})/g, "$1"));  // 512 before 16,384
    fact.order = plain.map((_, code) => code).sort((a, b) => collate(plain[a], plain[b]));
  }
  store.identity = dictionary(n, (i) => kIdentity.map((name) => store.facts[name].codes[i]).join("|"));
  store.place = placesByName(store);
}

// Place of each run in the order of names: model first, then whatever else it is; what is not stated comes last.
// Equal for runs that are the same, so that lists are sorted by comparing numbers.
function placesByName(store) {
  const { codes, values } = store.identity;
  const facts = kIdentity.map((name) => {
    const { order, codes: of } = store.facts[name];
    const place = new Int32Array(order.length + 1);
    order.forEach((code, at) => { place[code + 1] = at; });
    place[0] = order.length;
    return { of, place };
  }).filter(({ place }) => place.length > 1);
  const example = new Int32Array(values.length);
  for (let i = 0; i < store.n; ++i) example[codes[i]] = i;
  const sorted = values.map((_, code) => code).sort((a, b) => {
    for (const { of, place } of facts) {
      const by = place[of[example[a]] + 1] - place[of[example[b]] + 1];
      if (by !== 0) return by;
    }
    return 0;
  });
  const placeOf = new Int32Array(values.length);
  sorted.forEach((code, at) => { placeOf[code] = at; });
  return codes.map((code) => placeOf[code]);
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
