// The conditions of a run: what makes two figures comparable, and what keeps one from a rank. Pure.
import { dictionary } from "./columns.js";
import { formatCount, isMissing } from "./format.js";
import { comboOf, kRateUnits, tagsOf } from "./rows.js";

/** Conditions that make two cumulative figures comparable: all equal, or not comparable. */
export const kRegimeFields = ["prompt", "max_tokens", "concurrency", "prefix_policy", "thinking", "streaming"];
export const kRegimeNames = {
  prompt: "prompt tokens", max_tokens: "output budget", concurrency: "concurrency", prefix_policy: "prefix policy",
  thinking: "thinking", streaming: "streaming", rate_basis: "rate basis",
};
const kNeeded = ["prompt", "max_tokens", "concurrency", "prefix_policy"];

// Per run, once: what its regime leaves unsaid, and the code of its regime without the basis. Suites that do not
// measure speed have no regime to state.
function regimes(store) {
  if (store.regimes) return store.regimes;
  const suites = store.shards.column("suite");
  const speed = Uint8Array.from({ length: store.n }, (_, i) => Number(suites.at(i) === "throughput" || suites.at(i) === "ttft"));
  const gaps = store.regime.map((facts, i) => (speed[i] ? kNeeded.filter((name) => facts[name] === null) : []));
  const key = dictionary(store.n, (i) => (speed[i] ? kRegimeFields.map((name) => store.regime[i][name] ?? "").join("\u001f") : null));
  const basis = dictionary(store.combos.length, (combo) => store.combos[combo].basis);
  const superseded = Uint8Array.from({ length: store.n }, (_, i) => Number(!isMissing(store.shards.at("superseded_by", i))));
  store.regimes = { speed, gaps, key, basis, superseded };
  return store.regimes;
}

/** Names of what a cumulative figure needs and the run does not state; empty when the regime is complete. */
export function regimeGaps(store, row) {
  const shard = store.rowShard[row];
  const { speed, gaps } = regimes(store);
  if (!speed[shard]) return [];
  const combo = comboOf(store, row);
  const noBasis = combo !== null && kRateUnits.has(combo.unit) && combo.basis === "";
  const unstated = tagsOf(store, row).regime === "unstated";
  if (!noBasis && !unstated && gaps[shard].length === 0) return [];
  const names = noBasis ? [...gaps[shard], "rate_basis"] : gaps[shard].slice();
  if (names.length === 0) names.push("prompt");
  return names.map((name) => kRegimeNames[name]);
}

/** Equal keys: comparable conditions, field by field and in their basis. A number. */
export function regimeKey(store, row) {
  const { key, basis } = regimes(store);
  const code = key.codes[store.rowShard[row]];
  return code < 0 ? -1 : code * basis.values.length + basis.codes[store.rowCombo[row]];
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

export const isSuperseded = (store, shard) => regimes(store).superseded[shard] === 1;

/** Why this row takes no rank beside others of its evidence class; empty when it does. */
export function rankProblems(store, row) {
  const shard = store.rowShard[row];
  const out = [];
  if (store.dims.weights.at(shard) !== "verified") out.push("weights unverified");
  const gaps = regimeGaps(store, row);
  if (gaps.length > 0) out.push(`regime unstated: ${gaps.join(", ")}`);
  if (isSuperseded(store, shard)) out.push("superseded");
  return out;
}
/** rankProblems is empty; found once a row. */
export function takesRank(store, row) {
  store.ranks ??= new Int8Array(store.m).fill(-1);
  if (store.ranks[row] < 0) store.ranks[row] = rankProblems(store, row).length === 0 ? 1 : 0;
  return store.ranks[row] === 1;
}
