// Runs of the same thing as series, what each is called, and which series may stand in one group. Pure.
import { formatTime, isMissing, lowerIsBetter, shown } from "./format.js";
import { isSuperseded, regimeGaps, regimeKey, regimeText, takesRank } from "./regime.js";
import { comboOf, tagsOf } from "./rows.js";
import { kIdentity } from "./store.js";

// Settings of a tool that make two rows of one run different measurements.
const kConfigTags = ["track_id", "ratio_of", "n_threads", "n_batch", "n_ubatch", "n_gpu_layers", "n_depth", "n_prompt", "n_gen", "type_k",
  "type_v", "flash_attn", "split_mode", "strategy", "streams", "rate", "request_rate", "max_concurrency", "concurrency",
  "width", "prompt_set", "phase", "effective_spec_mode", "num_fewshot", "n_limit", "max_gen_toks", "task_version"];

// Code of the row's settings.
function configCode(store, row) {
  store.configs ??= { codes: new Int32Array(store.m).fill(-1), seen: new Map([["", 0]]) };
  const { codes, seen } = store.configs;
  if (codes[row] < 0) {
    const tags = tagsOf(store, row);
    let key = "";
    for (const name of kConfigTags) if (tags[name] !== undefined) key += `${name}=${tags[name]}\u001f`;
    if (!seen.has(key)) seen.set(key, seen.size);
    codes[row] = seen.get(key);
  }
  return codes[row];
}

/** Series of a row without metric, unit and basis, as a small number. A row whose regime is incomplete is alone with its run. */
export function seriesCode(store, row) {
  store.series ??= { codes: new Int32Array(store.m).fill(-1), seen: new Map() };
  const { codes, seen } = store.series;
  if (codes[row] < 0) {
    const shard = store.rowShard[row];
    const alone = regimeGaps(store, row).length > 0 ? `!${shard}` : "";
    const key = `${store.identity.codes[shard]}|${store.facts.env_class.codes[shard]}|${configCode(store, row)}${alone}`;
    if (!seen.has(key)) seen.set(key, seen.size);
    codes[row] = seen.get(key);
  }
  return codes[row];
}

/** Rows as series {code, rows, latest, place, model}, each in order of time (superseded runs left out); in order of their first row. */
export function seriesOf(store, rowIds) {
  const byKey = new Map();
  for (const row of rowIds) {
    if (isSuperseded(store, store.rowShard[row])) continue;
    const code = seriesCode(store, row) * store.combos.length + store.rowCombo[row];
    const series = byKey.get(code);
    if (series) series.rows.push(row);
    else byKey.set(code, { code, rows: [row], latest: row, place: 0, model: "" });
  }
  const list = [...byKey.values()];
  const time = (row) => store.time[store.rowShard[row]];
  for (const series of list) {
    if (series.rows.length > 1) series.rows.sort((a, b) => time(a) - time(b) || a - b);
    series.latest = series.rows[series.rows.length - 1];
    series.place = store.place[store.rowShard[series.latest]];
    series.model = store.facts.model.at(store.rowShard[series.latest]) ?? "(no model)";
  }
  return list;
}

/** Order of series (anything with `place`, of its run in the order of names, and `code`): by model, then by whatever else they are. */
export const byName = (a, b) => a.place - b.place || a.code - b.code;

const kPartNames = { window: (v) => `window ${v}`, prompt: (v) => `prompt ${v}`, output: (v) => `output ${v}`,
  concurrency: (v) => `${v} in flight`, effort: (v) => `effort ${v}`, thinking: (v) => `thinking ${v}` };

/**
 * A series is called by its model and by whatever tells it from the others of `list`. Gives the first `max` of the list
 * their `detail` and `label`; naming fewer does not change the names.
 */
export function nameSeries(store, list, { without = [], max = list.length } = {}) {
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
  const seen = new Set();
  for (const series of list.slice(0, max)) {
    const shard = store.rowShard[series.latest];
    const tags = varying.length > 0 ? tagsOf(store, series.latest) : {};
    const words = [];
    for (const name of parts) {
      const value = store.facts[name].at(shard);
      if (value !== null) words.push(kPartNames[name] ? kPartNames[name](value) : shown(name, value));
    }
    for (const name of varying) if (!isMissing(tags[name])) words.push(`${name.replaceAll("_", " ")} ${tags[name]}`);
    series.model = store.facts.model.at(shard) ?? "(no model)";
    const twin = `${series.model}|${words.join("|")}|${comboOf(store, series.latest)?.name}`;
    if (seen.has(twin)) words.push(`run ${formatTime(store.time[shard])}`);  // incomplete regimes look alike and stay apart
    seen.add(twin);
    series.detail = words.join(" · ");
    series.label = series.detail ? `${series.model} · ${series.detail}` : series.model;
  }
}

/** Series of equal conditions together: [{key, regime, gaps, series}], in order of their first series. */
export function regimeGroups(store, list) {
  const groups = new Map();
  for (const series of list) {
    const key = regimeKey(store, series.latest);
    const group = groups.get(key);
    if (group) group.series.push(series);
    else groups.set(key, { key, regime: regimeText(store, series.latest), gaps: regimeGaps(store, series.latest), series: [series] });
  }
  return [...groups.values()];
}

/**
 * Series in groups of one regime. Inside: ranked (best first) if `ranking`, then the rest by name, never by value.
 * Only what will be shown is named: call nameSeries on it.
 */
export function compareGroups(store, rowIds, { ranking }) {
  const list = regimeGroups(store, seriesOf(store, rowIds));
  for (const group of list) {
    group.ranked = [];
    group.unranked = [];
    for (const series of group.series) {
      series.value = store.value[series.latest];
      (ranking && takesRank(store, series.latest) ? group.ranked : group.unranked).push(series);
    }
    const lead = group.ranked[0]?.latest;
    const combo = lead === undefined ? null : comboOf(store, lead);
    const lower = combo !== null && lowerIsBetter(combo.metric, combo.unit, tagsOf(store, lead).higher_is_better);
    group.lower = lower;
    group.ranked.sort((a, b) => (lower ? a.value - b.value : b.value - a.value) || byName(a, b));
    group.ranked.forEach((series, at) => {
      series.rank = at > 0 && series.value === group.ranked[at - 1].value ? group.ranked[at - 1].rank : at + 1;
    });
    group.unranked.sort(byName);
  }
  return list.sort((a, b) => b.ranked.length - a.ranked.length || b.unranked.length - a.unranked.length || a.key - b.key);
}
