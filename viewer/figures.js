// What a reader must see beside a figure: its interval, its failures, and the runs that gave none. Pure.
import { formatCount } from "./format.js";
import { comboOf, parseJson, tagsOf } from "./rows.js";

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

/** Failures, empty answers, a run that did not pass. */
export function flagsOf(store, row) {
  const tags = tagsOf(store, row);
  const flags = [];
  const failed = failedRequests(store, row);
  if (failed > 0) flags.push(`${formatCount(failed)} failed request${failed === 1 ? "" : "s"}`);
  const incomplete = number(tags.incomplete);
  if (incomplete !== null && incomplete > 0) flags.push(`${formatCount(incomplete)} incomplete`);
  const answered = number(tags.answered_rate);
  if (answered !== null && answered < 1) flags.push(`answered ${Math.floor(answered * 100)} %`);
  if (tags.partial === "true") flags.push("partial run");
  if (tags.passed === "false") flags.push("run did not pass");
  return flags;
}
/** Read from the tags once a row. */
export function failedRequests(store, row) {
  store.failed ??= new Float64Array(store.m).fill(-1);
  if (store.failed[row] < 0) {
    const tags = tagsOf(store, row);
    store.failed[row] = Math.max(0, number(tags.failed_requests) ?? number(tags.n_err) ?? number(tags.errored) ?? 0);
  }
  return store.failed[row];
}

/** Passing runs that have no figure because of what became of them; newest first. */
export function statusRuns(store, pass) {
  store.statusRuns ??= runsWithoutFigure(store);
  return store.statusRuns.filter((shard) => pass[shard]);
}
function runsWithoutFigure(store) {
  const status = store.dims.status;
  const success = status.values.indexOf("success");
  const skipped = store.shards.column("skipped");
  const out = [];
  for (let i = 0; i < store.n; ++i) {
    if ((status.codes[i] >= 0 && status.codes[i] !== success) || skipped.at(i) === true) out.push(i);
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
