// Indexes in the page's format, written by hand: one small with a case of everything, one with ten thousand shards.
import { createHash } from "node:crypto";

/** Runs as objects to the index's columns. Row keys: name, metric, value, unit, tags. */
export function makeIndex(runs, extra = {}) {
  const names = [...new Set(runs.flatMap((run) => Object.keys(run)))].filter((name) => name !== "rows");
  const columns = {};
  for (const name of names) columns[name] = code(runs.map((run) => run[name] ?? null));
  const rows = runs.flatMap((run, shard) => run.rows.map((row) => ({ ...row, shard })));
  const rowColumns = {
    shard: rows.map((row) => row.shard),
    name: code(rows.map((row) => row.name)),
    metric: code(rows.map((row) => row.metric)),
    value: rows.map((row) => row.value ?? null),
    unit: code(rows.map((row) => row.unit)),
    rate_basis: code(rows.map((row) => row.tags?.rate_basis ?? null)),
    tags_json: code(rows.map((row) => (row.tags ? JSON.stringify(row.tags) : null))),
  };
  return {
    format: "assay-view-1", store: "file:///record", built_at: "2026-11-29T12:00:00Z",
    index: { state: "ok", historical_scored_before: "2026-01-01T00:00:00Z", policy: "A shard without an entry is experimental." },
    problems: [],
    shards: { count: runs.length, columns },
    rows: { count: rows.length, columns: rowColumns },
    ...extra,
  };
}

function code(values) {
  const distinct = [...new Set(values.filter((value) => value !== null))];
  if (distinct.length > values.length / 2) return values;
  const at = new Map(distinct.map((value, i) => [value, i]));
  return { values: distinct, codes: values.map((value) => (value === null ? -1 : at.get(value))) };
}

const hex = (text) => createHash("sha256").update(text).digest("hex");

/** One run with everything stated; `change` overrides fields, `regime` and `cache` fields of those. */
export function makeRun(id, change = {}) {
  const { regime = {}, cache = {}, rows, control, ...fields } = change;
  const basis = { prompt_tokens_min: 512, prompt_tokens_max: 512, max_tokens: 128, concurrency: 1, streaming: true,
    temperature: 0, thinking: "off", rate_basis: "request", warmups: 1, repetitions: 4 };
  const run = {
    path: `data/run-${id}-${hex(id).slice(0, 8)}.parquet`, size: 20000, sha256: hex(`bytes ${id}`), envelope_sha256: hex(`envelope ${id}`),
    evidence: "scored", era: "current", weights: "verified", timestamp: "2026-10-01T10:00:00Z", git_sha: "abcdef1234567", suite: "throughput",
    model: "mlx-community/Qwen3-8B-4bit", quantization: "mlx-4bit", env_class: "isolated", concurrency: 1, cell_status: "success",
    serving: '{"stack":"llama.cpp"}', chip: "Apple M4 Max", memory_gb: 128, os: "macOS 26.0", engine: '{"name":"llama.cpp","version":"b9000"}',
    prefix_policy: "unique_full_prompt", context_configured_window_tokens: 32768, context_actual_prompt_tokens: 512,
    context_output_reservation_tokens: 128, context_actual_total_tokens: 640,
    regime_json: JSON.stringify({ ...basis, ...regime }),
    cache_json: JSON.stringify({ weights_state: "resident", prefix_policy: "unique_full_prompt", ...cache }),
    ...(control ? { control_json: JSON.stringify(control) } : {}),
    ...fields,
  };
  run.rows = rows ?? probeRows(150);
  return run;
}

/** What a probe reports; cumulative `rate`, the rest in proportion. */
export function probeRows(rate, tags = {}) {
  const common = { n_ok: "4", n_err: "0", answered_rate: "1", truncated_rate: "0", ...tags };
  const row = (metric, value, unit, more = {}) => ({ name: "throughput_probe", metric, value, unit, tags: { ...common, ...more } });
  return [
    row("throughput_total_toks_per_s", rate, "tok/s",
        { rate_basis: "request", cumulative_tok_s_min: String(rate * 0.97), cumulative_tok_s_max: String(rate * 1.02) }),
    row("throughput_output_toks_per_s", rate / 8, "tok/s", { rate_basis: "decode_window" }),
    row("throughput_prompt_toks_per_s", rate * 1.1, "tok/s", { rate_basis: "prefill_window" }),
    row("ttft_p50_ms", 51200 / rate, "ms"),
  ];
}

const statusRow = [{ name: "cell", metric: "cell_status", value: null, unit: "status" }];
const day = (n) => new Date(Date.UTC(2026, 8, 1 + n, 10)).toISOString().replace(".000", "");

export function smallIndex(extra) {
  const runs = [];
  const models = [["mlx-community/Qwen3-8B-4bit", 150], ["mlx-community/gemma-3-12b-it-4bit", 96.4], ["SmolLM2-135M-Instruct", 1204.6]];
  for (const [model, rate] of models) {
    for (let k = 0; k < 5; ++k) {
      runs.push(makeRun(`${model}-${k}`, { model, timestamp: day(7 * k), campaign_id: `nightly-${Math.floor(k / 2)}`,
        engine: JSON.stringify({ name: "llama.cpp", version: `b90${k}0` }), rows: probeRows(rate * (1 + 0.03 * k - 0.01 * (k % 2)), { n_err: k === 4 && rate < 100 ? "3" : "0" }) }));
    }
    runs.push(makeRun(`${model}-long`, { model, timestamp: day(30), regime: { prompt_tokens_min: 16384, prompt_tokens_max: 16384 },
      context_actual_prompt_tokens: 16384, context_actual_total_tokens: 16512, rows: probeRows(rate * 2.2) }));
  }
  // Not comparable, each for its own reason.
  runs.push(makeRun("shared", { model: "mlx-community/Qwen3-8B-4bit", timestamp: day(31), prefix_policy: "shared_prefix",
    cache: { prefix_policy: "shared_prefix" }, campaign_id: "nightly-2", rows: probeRows(900) }));
  runs.push(makeRun("unverified", { model: "Llama-3.2-3B-Instruct", weights: "unverified", timestamp: day(29), rows: probeRows(310) }));
  runs.push(makeRun("unstated", { model: "Mistral-7B-v0.3", timestamp: day(28), prefix_policy: null, cache_json: null, regime_json: '{"rate_basis":"request"}',
    context_actual_prompt_tokens: null, context_output_reservation_tokens: null, rows: probeRows(2000, { regime: "unstated" }) }));
  runs.push(makeRun("empty-answers", { model: "thinker-9b", timestamp: day(27), rows: probeRows(205, { answered_rate: "0.75" }) }));
  // A campaign: two profiles, three targets, every status.
  const cells = [["base", 32768, 32000, "success", 166.9], ["base", 131072, 32000, "success", 165.2], ["base", 131072, 64000, "success", 141.0],
    ["base", 131072, 128000, "success", 98.7], ["mtp", 32768, 32000, "success", 171.3], ["mtp", 131072, 32000, "failed"],
    ["mtp", 131072, 64000, "capacity_gated"], ["mtp", 131072, 128000, "aborted"], ["base", 196608, 192000, "unsupported"], ["mtp", 196608, 192000, "not_applicable"]];
  cells.forEach(([profile, window, target, status, rate], i) => {
    const rows = rate ? probeRows(rate) : statusRow;
    runs.push(makeRun(`cell-${i}`, { model: "org/Qwen3.8-27B", campaign_id: "clean-reset", campaign_cell_id: `cell${i}`, campaign_profile: profile,
      cell_status: status, timestamp: day(40), context_configured_window_tokens: window, context_requested_prompt_tokens: target,
      context_actual_prompt_tokens: rate ? target + 3 : null, context_actual_total_tokens: rate ? target + 67 : null,
      regime: { prompt_tokens_min: target, prompt_tokens_max: target, max_tokens: 64 },
      errors_json: status === "success" ? null : JSON.stringify([`${status}: the guard's own words for ${profile} at ${target}`]), rows }));
  });
  // A candidate and its control in one session; the control is a run of its own.
  const control = makeRun("pair-control", { timestamp: "2026-10-20T10:00:00Z", campaign_id: "ab", rows: probeRows(100) });
  runs.push(control);
  runs.push(makeRun("pair-candidate", { timestamp: "2026-10-20T10:20:00Z", campaign_id: "ab", git_sha: "fedcba7654321", rows: probeRows(112.5),
    control: { incumbent_model: "mlx-community/Qwen3-8B-4bit", envelope_sha256: control.envelope_sha256, same_session: true,
      metric: "throughput_total_toks_per_s", value: 100, unit: "tok/s" } }));
  runs.push(makeRun("pair-shared", { timestamp: "2026-10-20T10:40:00Z", campaign_id: "ab", prefix_policy: "shared_prefix",
    cache: { prefix_policy: "shared_prefix" }, rows: probeRows(380),
    control: { envelope_sha256: control.envelope_sha256, same_session: true, metric: "throughput_total_toks_per_s", value: 100, unit: "tok/s" } }));
  // Another suite, other evidence, hostile text.
  for (const [model, value] of [["mlx-community/Qwen3-8B-4bit", 0.778], ["SmolLM2-135M-Instruct", 0.041]]) {
    runs.push(makeRun(`gsm8k-${model}`, { suite: "reasoning", model, rows: [{ name: "gsm8k", metric: "exact_match_strict", value, unit: "ratio", tags: { stderr: "0.0115" } },
      { name: "gsm8k", metric: "exact_match_flexible", value: value * 1.01, unit: "ratio", tags: { stderr: "0.0114" } }] }));
  }
  runs.push(makeRun("experimental", { evidence: "experimental", weights: "unverified", model: "my-laptop-model", rows: probeRows(42) }));
  runs.push(makeRun("recovered", { evidence: "recovered", era: "historical", model: "found-again", rows: probeRows(42) }));
  runs.push(makeRun("invalid", { evidence: "invalid", caveat: "the proxy served other weights", model: "wrong-weights", rows: probeRows(4200) }));
  const hostile = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
  runs.push(makeRun("hostile", { model: hostile, quantization: "javascript:window.hacked=1", campaign_id: hostile, campaign_profile: hostile,
    caveat: hostile, errors_json: JSON.stringify([hostile]), chip: hostile, timestamp: day(33),
    rows: probeRows(77, { phase: hostile, strategy: "</script><svg onload=window.hacked=1>" }) }));
  return makeIndex(runs, { problems: [
    { path: "data/notes.parquet", problem: "SHARD-UNREADABLE: not a Parquet file" },
    { path: "data/run-half.parquet", problem: "SHARD-UNREADABLE: the file ends before its footer" }], ...extra });
}

/** `count` shards, four rows each, a few hundred series: the size that the page must stay quick at. */
export function bigIndex(count = 10000) {
  let seed = 12345;
  const random = () => ((seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const chips = ["Apple M4 Max", "Apple M2 Ultra", "AMD EPYC", "NVIDIA Grace", "Ryzen 9"];
  const engines = ["llama.cpp", "vllm", "mlx-lm", "assay-engine"];
  const runs = [];
  for (let i = 0; i < count; ++i) {
    const model = `org/model-${Math.floor(random() * 60)}`;
    const prompt = pick([512, 4096, 32000]);
    const engine = pick(engines);
    runs.push(makeRun(`big-${i}`, { model, chip: pick(chips), memory_gb: pick([64, 128]), engine: JSON.stringify({ name: engine }),
      serving: JSON.stringify({ stack: engine }), quantization: pick(["Q4_1", "Q8_0", "mlx-4bit"]), timestamp: new Date(Date.UTC(2026, 0, 1) + i * 3.1e6).toISOString(),
      campaign_id: `campaign-${Math.floor(i / 50)}`, campaign_profile: engine, regime: { prompt_tokens_min: prompt, prompt_tokens_max: prompt },
      context_actual_prompt_tokens: prompt, context_requested_prompt_tokens: prompt, context_actual_total_tokens: prompt + 128, evidence: i % 50 === 7 ? "experimental" : "scored",
      cell_status: i % 97 === 3 ? "failed" : "success", rows: i % 97 === 3 ? statusRow : probeRows(50 + random() * 400) }));
  }
  return makeIndex(runs);
}
