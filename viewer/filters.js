// Which runs are shown, and what may be chosen: evidence, suites, filters, selectors. Pure.
//
// Cost    10,000 runs and 40,000 rows: a change of a filter about two milliseconds
import { kDimensions, kEvidence } from "./store.js";
import { rowsOfCombo } from "./rows.js";

export const kSuites = ["throughput", "ttft", "tool-calling", "code-accuracy", "framework-eval", "capability-comparison",
  "coding", "reasoning", "knowledge", "evalplus", "math-hard", "promptstack", "grounded-summary"];
export const kHeadline = "throughput_total_toks_per_s";
const kTieBreak = [kHeadline, "composite", "decode_toks_per_s", "throughput_output_toks_per_s", "ttft_p50_ms"];

/** Runs in each evidence class. */
export function evidenceCounts(store) {
  if (!store.evidenceCounts) {
    store.evidenceCounts = kEvidence.map(() => 0);
    for (let i = 0; i < store.n; ++i) if (!store.twin[i]) store.evidenceCounts[store.evidence[i]]++;
  }
  return store.evidenceCounts;
}
export function firstEvidence(store) {
  const at = evidenceCounts(store).findIndex((count) => count > 0);
  return kEvidence[at < 0 ? 0 : at];
}

/** Suites of an evidence class with their run counts; suites without data stay in the list with 0. */
export function suiteCounts(store, evidence) {
  store.suiteCounts ??= new Map();
  if (!store.suiteCounts.has(evidence)) store.suiteCounts.set(evidence, countSuites(store, evidence));
  return store.suiteCounts.get(evidence);
}
function countSuites(store, evidence) {
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
  const { codes: suiteOf } = suites;
  for (let i = 0; i < n; ++i) {
    if (store.twin[i] || store.evidence[i] !== class_ || suiteOf[i] !== suite || suite < 0 ||
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
  // Runs that pass, and for each dimension those that fail by it alone: the only ones that its list counts beside them.
  const pass = new Uint8Array(n);
  const passing = [];
  const byOne = kDimensions.map(() => []);
  for (let i = 0; i < n; ++i) {
    if (fails[i] === 0) {
      pass[i] = 1;
      passing.push(i);
    } else if (fails[i] === 1) byOne[which[i]].push(i);
  }
  const options = {};
  kDimensions.forEach(([name], d) => { options[name] = optionsOf(store.dims[name], [passing, byOne[d]], state.filters?.[name] ?? []); });
  return { pass, count: passing.length, options };
}

function optionsOf({ values, codes, order }, lists, chosen) {
  const counts = new Int32Array(values.length + 1);
  for (const list of lists) for (let k = 0; k < list.length; ++k) counts[codes[list[k]] + 1]++;
  const out = [];
  for (const code of order) {
    const label = values[code];
    const picked = chosen.includes(label);
    if (counts[code + 1] > 0 || picked) out.push({ label, count: counts[code + 1], chosen: picked });
  }
  if (counts[0] > 0 || chosen.includes("")) out.push({ label: "", count: counts[0], chosen: chosen.includes("") });
  return out;
}

/** Combinations that exist among the passing runs, with how many runs and models have them; best first. */
export function availableCombos(store, pass) {
  const { codes, values } = store.dims.model;
  const weight = (metric) => {
    const at = kTieBreak.indexOf(metric);
    return at < 0 ? kTieBreak.length : at;
  };
  const out = [];
  store.combos.forEach((combo, id) => {
    const seen = new Uint8Array(values.length + 1);
    const rows = rowsOfCombo(store, id);
    let count = 0, models = 0;
    for (let k = 0; k < rows.length; ++k) {
      const shard = store.rowShard[rows[k]];
      if (!pass[shard]) continue;
      ++count;
      models += 1 - seen[codes[shard] + 1];
      seen[codes[shard] + 1] = 1;
    }
    if (count > 0) out.push({ ...combo, id, rows: count, models });
  });
  return out.sort((a, b) => (b.metric === kHeadline) - (a.metric === kHeadline) || b.models - a.models ||
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

/** Rows of a combination in the passing runs. */
export function selectRows(store, pass, comboId) {
  const rows = rowsOfCombo(store, comboId);
  const out = [];
  for (let k = 0; k < rows.length; ++k) if (pass[store.rowShard[rows[k]]]) out.push(rows[k]);
  return out;
}

/** All figures of the passing runs, in the order of the index. */
export function passingRows(store, pass) {
  const out = [];
  const { rowCombo, rowShard, value, m } = store;
  for (let r = 0; r < m; ++r) if (rowCombo[r] >= 0 && pass[rowShard[r]] && !Number.isNaN(value[r])) out.push(r);
  return out;
}
