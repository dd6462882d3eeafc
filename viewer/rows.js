// Rows of the store: whose they are, which selector (name, metric, unit, basis) they belong to, and their tags. Pure.
//
// A row without a selector is no figure: a status, a part of a sealed run, or the first request to a server
// (phase=readiness), which is shown apart and never beside what was measured.
import { IndexError } from "./columns.js";
import { isMissing } from "./format.js";

export const kRateUnits = new Set(["tok/s", "req/s"]);
const kSealedParts = new Set(["leg", "gate", "correctness", "seal"]);

export function parseJson(text) {
  if (typeof text !== "string") return null;
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}
/** The value as text; null for a placeholder. */
export const known = (value) => (isMissing(value) ? null : String(value));

/** Fills in `store` (shards, rows, n, m are there) what this file's functions ask for. */
export function indexRows(store) {
  const { rows, n, m } = store;
  const shard = rows.column("shard");
  store.rowShard = new Int32Array(m);
  for (let r = 0; r < m; ++r) {
    const at = shard.at(r);
    if (!Number.isInteger(at) || at < 0 || at >= n) throw new IndexError(`INDEX-FORMAT: row ${r} names shard ${at} of ${n}`);
    store.rowShard[r] = at;
  }
  store.value = rows.numbers("value");
  store.ofShard = grouped(store.rowShard, n);
  const parsed = (column) => ({ codes: column.codes, texts: column.values, objects: new Array(column.values.length) });
  store.tags = { row: parsed(rows.column("tags_json")), run: parsed(store.shards.column("tags_json")), merged: new Array(m) };
  store.readiness = readinessRows(store);
  indexCombos(store);
  // The rows of a selector that have a value, so that a change of it or of a filter looks at no others.
  store.ofCombo = grouped(store.rowCombo, store.combos.length, (r) => !Number.isNaN(store.value[r]));
}

// Positions by their group: {start [groups + 1], list}; group -1 is in none.
function grouped(groups, count, wanted = () => true) {
  const start = new Int32Array(count + 1);
  for (let r = 0; r < groups.length; ++r) if (groups[r] >= 0 && wanted(r)) start[groups[r] + 1]++;
  for (let g = 0; g < count; ++g) start[g + 1] += start[g];
  const list = new Int32Array(start[count]);
  const next = start.slice();
  for (let r = 0; r < groups.length; ++r) if (groups[r] >= 0 && wanted(r)) list[next[groups[r]]++] = r;
  return { start, list };
}
const members = ({ start, list }, group) => list.subarray(start[group], start[group + 1]);

// One member of each distinct text's object, without parsing it: inside a JSON string its quotes would be escaped.
// undefined: not there; null: taken away from what the run says.
function memberOf(texts, name) {
  const pattern = new RegExp(`[{,]\\s*"${name}"\\s*:\\s*(?:"([^"\\\\]*)"|null)`);
  return texts.map((text) => {
    const found = pattern.exec(text);
    return found === null ? undefined : found[1] ?? null;
  });
}

// 1 where the row is what a server's first request gave.
function readinessRows(store) {
  const { row, run } = store.tags;
  const own = memberOf(row.texts, "phase"), common = memberOf(run.texts, "phase");
  const out = new Uint8Array(store.m);
  for (let r = 0; r < store.m; ++r) {
    const shardCode = run.codes[store.rowShard[r]];
    let phase = row.codes[r] < 0 ? undefined : own[row.codes[r]];
    if (phase === undefined && shardCode >= 0) phase = common[shardCode];
    if (phase === "readiness") out[r] = 1;
  }
  return out;
}

function indexCombos(store) {
  const { rows, n, m } = store;
  const names = rows.column("name"), metrics = rows.column("metric"), units = rows.column("unit");
  const rowBasis = rows.column("rate_basis"), runBasis = store.shards.column("rate_basis");
  const tagBasis = rows.has("rate_basis") ? null : memberOf(store.tags.row.texts, "rate_basis");  // an index without a row's own
  const basisOf = (r) => known(rowBasis.at(r)) ?? known(tagBasis?.[store.tags.row.codes[r]]) ?? known(runBasis.at(store.rowShard[r])) ?? "";
  store.sealed = new Uint8Array(n);
  for (let r = 0; r < m; ++r) if (names.at(r) === "seal" && metrics.at(r) === "weights_bytes") store.sealed[store.rowShard[r]] = 1;
  store.combos = [];
  store.rowCombo = new Int32Array(m);
  const seen = new Map();
  for (let r = 0; r < m; ++r) {
    const unit = units.at(r), name = names.at(r);
    if (unit === "status" || store.readiness[r] || (store.sealed[store.rowShard[r]] && kSealedParts.has(name))) {
      store.rowCombo[r] = -1;
      continue;
    }
    const basis = kRateUnits.has(unit) ? basisOf(r) : "";
    const key = `${names.codes[r]}|${metrics.codes[r]}|${units.codes[r]}|${basis}`;
    let combo = seen.get(key);
    if (combo === undefined) {
      combo = store.combos.length;
      seen.set(key, combo);
      store.combos.push({ name: name ?? "", metric: metrics.at(r) ?? "", unit: unit ?? "", basis });
    }
    store.rowCombo[r] = combo;
  }
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
/** Tags of a run's first row: where a tool says what it ran on. */
export function firstTags(store, shard) {
  const rows = rowsOfShard(store, shard);
  return rows.length > 0 ? tagsOf(store, rows[0]) : tagObject(store.tags.run, shard) ?? {};
}

export const rowsOfShard = (store, shard) => members(store.ofShard, shard);
/** Rows of a selector that have a value. */
export const rowsOfCombo = (store, combo) => members(store.ofCombo, combo);
export function comboOf(store, row) {
  const combo = store.rowCombo[row];
  return combo < 0 ? null : store.combos[combo];
}
/** What a server's first request gave in this run, and whether the model was loaded by then. */
export const readinessOf = (store, shard) => [...rowsOfShard(store, shard)].filter((row) => store.readiness[row]);
