// Result files as the tools write them, small and by hand: what the record's programs make shards of.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const sha = (text) => createHash("sha256").update(text).digest("hex");
const spread = (median) => ({ median, min: median * 0.98, max: median * 1.01 });

/** A probe's file: `rate` cumulative tok/s over a prompt of `prompt` tokens. */
export function probeFile(folder, name, { model = "org/probe-model", rate = 100, prompt = 512, startedAt = "2026-10-01T10:00:00Z", status = "success", ...more } = {}) {
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify({
    model, base_url: "http://127.0.0.1:8000/v1", max_tokens: 64, context_tokens_target: prompt, cell_status: status,
    context: { configured_window_tokens: 32768, requested_prompt_tokens: prompt, actual_prompt_tokens: prompt, output_reservation_tokens: 64, actual_completion_tokens: 64, actual_total_tokens: prompt + 64 },
    regime: { prompt_tokens_min: prompt, prompt_tokens_max: prompt, max_tokens: 64, concurrency: 1, streaming: true, temperature: 0, thinking: "off", rate_basis: "request", warmups: 1, repetitions: 4 },
    cache: { weights_state: "resident", prefix_policy: "unique_full_prompt", cached_tokens_observed: 0, cached_tokens_asserted: true },
    context_cache_busting: true, thinking: "off", think_kwarg: null, think_value: null, think_kwarg_sent: false, dedicated: true,
    readiness: { initial_model_state: "resident", first_request: {} }, started_utc: startedAt, finished_utc: startedAt, warmup: {},
    sequential_runs: [{}, {}, {}, {}],
    sequential: { n_ok: 4, n_err: 0, cumulative_tok_s: spread(rate), decode_tok_s: spread(rate / 8), prefill_tok_s: spread(rate * 1.1), ttft_s: spread(51.2 / rate), total_s: spread(576 / rate),
      answered_rate: 1.0, truncated_rate: 0.0, finish_reasons: ["stop"], errors: [] },
    ...more,
  }));
  return file;
}

/** A sealed score with four pairs, its integrity file beside it. Returns the score's path. */
export function sealedFiles(folder) {
  const pairs = [[0.0330, 0.0220], [0.0331, 0.0215], [0.0329, 0.0225], [0.0332, 0.0221]];
  const digest = (what) => sha(what);
  const metrics = {
    track_id: "hand-made-cpu-v1", model_id: "hand-made", timestamp: "2026-10-02T08:00:00Z", error: "", commit: "1234567", contract_sha256: digest("contract"), golden_hash: digest("golden"),
    weights_hash: digest("weights"), weights_byte_count: 2365760, weights_file_count: 1, harness_hash: digest("harness"), seed_tokens: 512, official_pairs: 4, official_pair_combine: "lower_median",
    official_pair_order: "control_first", score_decode_weight: 0.75, score_prefill_weight: 0.25, effective_spec_mode: "serial", effective_spec_depth: 0, engine_device: "AMD EPYC, avx2, 2 threads", engine_backend: "cpu",
    passed_correctness: true, case_count: 2, checked_steps: 128, decode_speedup: 1.5, prefill_speedup: 1.05, decode_speedup_floor: 0.9, prefill_speedup_floor: 0.9, passed_decode_speedup_floor: true,
    passed_prefill_speedup_floor: true, baseline_band_passed: true, baseline_box: "local", baseline_source: "serial-control-leg",
    baseline_leg_decode_window_seconds_per_token: 0.033, candidate_leg_decode_window_seconds_per_token: 0.022, baseline_leg_prefill_seconds_per_token: 0.00063, candidate_leg_prefill_seconds_per_token: 0.0006,
    acceptance_bands: { decode_band_up_tolerance: 0.5, decode_band_down_tolerance: 0.25, decode_band_down_enabled: false, prefill_band_up_tolerance: 0.5, prefill_band_down_tolerance: 0.25, prefill_band_down_enabled: false },
    per_prompt: [{ prompt_sha256: digest("golden"), effective_mean_draft_len: 1.0, mtp_seconds_per_token_mean: 0.022 }],
    uncertainty: { method: "student-t on log ratios of pairs", confidence: 0.95, pairs: 4, composite: { low: 1.33, center: 1.37, high: 1.41 }, decode_speedup: { low: 1.46, center: 1.5, high: 1.54 }, prefill_speedup: { low: 1.01, center: 1.05, high: 1.09 }, detectable_change: 0.04, order_effect: null },
    paired_legs: pairs.map(([control, candidate], i) => ({ pair: i + 1, prompt_sha256: digest("golden"), control_prefill_seconds_per_token: 0.00063, control_decode_seconds_per_token: control, control_decode_window_seconds_per_token: control,
      candidate_prefill_seconds_per_token: 0.0006, candidate_decode_seconds_per_token: candidate, candidate_decode_window_seconds_per_token: candidate, control_seed_prefill_window_seconds_per_token: 0.00064, candidate_seed_prefill_window_seconds_per_token: 0.00061 })),
    gates: [1, 2].map((pair) => ({ pair, leg: "control", phase: "decode", quiescence: { state: "passed", waited_seconds: 1.5, load: 0.1, gpu_util: null }, cool: { state: "skipped", waited_seconds: 0.0, gpu_temp_c: null, skip_reason: "cpu track" } })),
  };
  const text = JSON.stringify({ metrics, passed: true, score: 1.3720368288 }, null, 2);
  writeFileSync(join(folder, "score.json"), text);
  writeFileSync(join(folder, "benchmark-integrity.json"), JSON.stringify({ score_path: "score.json", score_sha256: sha(text), weights_path: "models/hand", weights_sha256: metrics.weights_hash, weights_file_count: 1, weights_byte_count: 2365760,
    golden_path: "[private]", golden_sha256: metrics.golden_hash, candidate_executable: "bin/candidate", candidate_executable_sha256: digest("candidate"), baseline_executable: "bin/control", baseline_executable_sha256: digest("control"),
    benchd_executable: "bin/benchd", benchd_executable_sha256: digest("benchd"), sandbox: "none (linux)" }));
  return join(folder, "score.json");
}
