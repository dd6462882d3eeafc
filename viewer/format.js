// How values, names and times are written, and what counts as "not stated". Pure.

const kPlaceholders = new Set(["", "-", "n/a", "na", "none", "null", "nil", "unknown", "unstated", "unspecified", "not stated"]);

/** Placeholders are missing values: they are shown as blank and never compared as if they said something. */
export function isMissing(value) {
  return value === null || value === undefined || (typeof value === "number" && !Number.isFinite(value)) ||
         (typeof value === "string" && kPlaceholders.has(value.trim().toLowerCase()));
}

const kCollator = new Intl.Collator("en", { numeric: true });
/** Order of names: 8B before 12B, the same on every machine. */
export const collate = (a, b) => kCollator.compare(a, b);

const grouped = (digits) =>
  new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const kFixed = [grouped(0), grouped(1), grouped(2)];
const kTick = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });
const kFree = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 5 });

export function formatCount(value) {
  if (Number.isInteger(value) && value >= 0 && value < 1000) return String(value);
  return isMissing(value) ? "" : kFixed[0].format(value);
}

/** At most `max` characters, the cut shown. */
export function clip(text, max) {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}

/** The number alone, with the digits that its unit deserves; "" for a missing value, never 0. */
export function formatNumber(value, unit) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "";
  switch (unit) {
    case "ratio":
    case "%": return kFixed[1].format(unit === "ratio" ? value * 100 : value);
    case "tok/s": return kFixed[1].format(value);
    case "req/s":
    case "ms":
    case "s":
    case "seconds":
    case "x": return kFixed[2].format(value);
    case "tokens":
    case "count": return Number.isInteger(value) ? kFixed[0].format(value) : kFree.format(value);
    default: return kFree.format(value);
  }
}

const kUnitText = { ratio: " %", "%": " %", x: "×", bool: "", score: "", perplexity: "", seconds: " s", count: "" };

/** A tick of an axis: no more digits than it needs. */
export function formatTick(value, unit) {
  if (typeof value !== "number") return "";
  return kTick.format(unit === "ratio" ? value * 100 : value);
}

export function formatUnit(unit) {
  if (isMissing(unit)) return "";
  return unit in kUnitText ? kUnitText[unit] : ` ${unit}`;
}

export function formatValue(value, unit) {
  const text = formatNumber(value, unit);
  return text === "" ? "" : text + formatUnit(unit);
}

/** How the unit stands in a selector or over an axis. */
export function unitName(unit) {
  return { x: "× (ratio)", ratio: "%", bool: "yes/no" }[unit] ?? unit;
}

export function formatSigned(fraction) {
  const percent = fraction * 100;
  return `${percent < 0 ? "−" : "+"}${kFixed[1].format(Math.abs(percent))} %`;
}

export function shortModel(model) {
  if (isMissing(model)) return "";
  return model.replace(/^mlx-community\//, "").replace(/^openrouter\/openai\//, "openrouter/");
}

/** 2026-11-29 20:34, UTC. Written by hand so that every place shows the same text. */
export function formatTime(milliseconds) {
  if (!Number.isFinite(milliseconds)) return "";
  return new Date(milliseconds).toISOString().slice(0, 16).replace("T", " ");
}
export function formatDay(milliseconds) {
  return Number.isFinite(milliseconds) ? new Date(milliseconds).toISOString().slice(0, 10) : "";
}

/**
 * Half-octave buckets: prompts within about 19 % of each other share one (512 and 515 do, 190 and 2,291 do not).
 * The label is the bucket's middle.
 */
const kBuckets = new Map();
export function promptBucket(tokens) {
  if (!kBuckets.has(tokens)) kBuckets.set(tokens, bucketName(tokens));
  return kBuckets.get(tokens);
}
function bucketName(tokens) {
  if (typeof tokens !== "number" || !(tokens >= 0)) return null;
  if (tokens === 0) return "0";
  return `~${formatCount(Math.round(2 ** (Math.round(Math.log2(tokens) * 2) / 2)))}`;
}
export function promptRange(low, high) {
  const a = promptBucket(low);
  const b = promptBucket(high);
  if (a === null || b === null) return a ?? b;
  return a === b ? a : `${a} to ${b}`;
}

/** What each metric of the record means; shown beside the selectors, so that a name is never a guess. */
export const kMetrics = {
  throughput_total_toks_per_s: ["Cumulative throughput", "(prompt + completion tokens) ÷ wall time"],
  throughput_output_toks_per_s: ["Output throughput", "output tokens ÷ the window that the rate basis names"],
  throughput_prompt_toks_per_s: ["Prefill rate", "prompt tokens ÷ time to first token"],
  throughput_input_toks_per_s: ["Input throughput", "input tokens ÷ wall time"],
  decode_toks_per_s: ["Decode rate", "tokens ÷ decode window; of a streamed request (completion tokens − 1) ÷ (last token − first token)"],
  throughput_requests_per_s: ["Request rate", "completed requests ÷ wall time"],
  throughput_aggregate_toks_per_s: ["Aggregate throughput", "all tokens of the concurrent batch ÷ its wall time"],
  throughput_aggregate_output_toks_per_s: ["Aggregate output", "output tokens of the concurrent batch ÷ its wall time"],
  request_duration_p50_s: ["Request duration, median", "request sent to last token"],
  readiness_ttft_ms: ["First token of the first request", "request sent to first token; the model's loading may be part of it"],
  readiness_request_duration_s: ["Duration of the first request", "request sent to last token; the model's loading may be part of it"],
  composite: ["Composite gain", "prefill and decode gains, weighted as the contract says"],
  decode_gain: ["Decode gain", "control seconds per token ÷ candidate seconds per token"],
  prefill_gain: ["Prefill gain", "control seconds per token ÷ candidate seconds per token"],
  control_ratio: ["Candidate ÷ control", "the figure that the row names, over the control's, measured in one session"],
  spec_decode_acceptance_rate: ["Draft acceptance", "accepted ÷ drafted tokens"],
  spec_decode_acceptance_length: ["Accepted length", "tokens accepted a step"],
  answered_rate: ["Answered", "share of runs whose answer was not empty"],
  truncated_rate: ["Truncated", "share of runs that ended at the token limit"],
  tool_call_valid: ["Valid tool calls", "share of calls that parse and match the schema"],
};
const kLatencies = {
  ttft: ["Time to first token", "request sent to first token of any kind"],
  ttft_answer: ["Time to first answer token", "request sent to first token of the answer"],
  tpot: ["Time per output token", "(latency − time to first token) ÷ (output tokens − 1), each request"],
  tpot_incl_first: ["Time per token, first included", "latency ÷ output tokens, each request"],
  itl: ["Inter-token latency", "gaps between successive chunks of the stream"],
  e2el: ["Request latency", "request sent to last token"],
};

export function describeMetric(metric) {
  if (isMissing(metric)) return { label: "", formula: "" };
  if (Object.hasOwn(kMetrics, metric)) return { label: kMetrics[metric][0], formula: kMetrics[metric][1] };
  const latency = /^(ttft|ttft_answer|tpot|tpot_incl_first|itl|e2el)_(mean|p[0-9.]+)_ms$/.exec(metric);
  if (latency) {
    const [label, formula] = kLatencies[latency[1]];
    return { label: `${label}, ${latency[2] === "p50" ? "median" : latency[2]}`, formula };
  }
  return { label: metric, formula: "" };
}

const kBases = {
  wall: "whole run, wall clock",
  request: "each request's total",
  decode_window: "decode window",
  prefill_window: "prefill window",
  compute_only: "compute only, no server",
};
export function basisName(basis) {
  return isMissing(basis) ? "unstated" : kBases[basis] ?? basis;
}

/** Latencies, losses and watts: less is better. A row's own higher_is_better tag has the last word. */
export function lowerIsBetter(metric, unit, tag) {
  if (tag === "true") return false;
  if (tag === "false") return true;
  return ["ms", "s", "seconds", "perplexity", "bits", "W"].includes(unit) || metric === "truncated_rate";
}

/** Lines of CSV (RFC 4180). Text that a spreadsheet would run as a formula gets a leading apostrophe. */
export function toCsv(header, rows) {
  const cell = (value) => {
    if (value === null || value === undefined || (typeof value === "number" && !Number.isFinite(value))) return "";
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [header, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** JSON with NULL for what is missing. */
export function toJson(header, rows) {
  const objects = rows.map((row) =>
    Object.fromEntries(header.map((name, i) => [name, row[i] === undefined || Number.isNaN(row[i]) ? null : row[i]])));
  return JSON.stringify(objects, null, 1) + "\n";
}

// Words of our own vocabulary, which are written with underscores. Anybody's names (Q4_1, my_model) stay as they are.
const kVocabulary = new Set(["prefix_policy", "status"]);
/** A value of a dimension as it is shown. */
export const shown = (dimension, value) => (kVocabulary.has(dimension) ? value.replaceAll("_", " ") : value);

/** "1 tag", "12 tags". */
export const counted = (count, word) => `${formatCount(count)} ${word}${count === 1 ? "" : "s"}`;
