// When two figures may be divided, and when a lead may be called final. Pure. Refusals name what differs; their
// meaning stands in docs/view.md.
import { isMissing } from "./format.js";
import { comboOf, kRegimeFields, kRegimeNames, parseJson, regimeGaps, rowsOfShard, shardName, statusOf } from "./model.js";

export const kSessionHoursMax = 4;

/** The facts of a row that decide whether it can stand in a ratio. */
export function describeRow(store, row) {
  const shard = store.rowShard[row];
  const combo = comboOf(store, row);
  const at = (name) => store.shards.at(name, shard);
  return {
    row, shard, file: shardName(store, shard),
    value: store.value[row], ...combo,
    regime: { ...store.regime[shard], rate_basis: combo.basis || null },
    gaps: regimeGaps(store, row),
    status: statusOf(store, shard),
    evidence: store.evidence[shard], weights: store.dims.weights.at(shard),
    model: store.dims.model.at(shard), machine: store.dims.machine.at(shard), effort: store.dims.effort.at(shard),
    env_class: store.dims.env_class.at(shard), stack: store.json.serving[shard]?.stack ?? null,
    temperature: store.json.regime[shard]?.temperature ?? null,
    campaign: store.dims.campaign.at(shard), time: store.time[shard],
    envelope: at("envelope_sha256"), control: store.json.control[shard],
  };
}

const said = (value) => (value === null || value === undefined || value === "" ? "not stated" : String(value));

function sameSession(a, b) {
  if (a.shard === b.shard) return "";
  const declared = [[a, b], [b, a]].some(([x, y]) => x.control && x.control.same_session === true && y.envelope && x.control.envelope_sha256 === y.envelope);
  if (declared) return "";
  if (a.campaign === null || b.campaign === null) return "neither names the other as its control, and they belong to no common campaign";
  if (a.campaign !== b.campaign) return `campaigns ${a.campaign} and ${b.campaign}`;
  const hours = Math.abs(a.time - b.time) / 3.6e6;
  return hours <= kSessionHoursMax ? "" : `${hours.toFixed(1)} hours apart, at most ${kSessionHoursMax} are one session`;
}

/**
 * candidate ÷ control, or every reason why there is no such ratio.
 * returns {ok: true, ratio} or {ok: false, refusals: [{code, field, text}]}
 */
export function comparePair(candidate, control) {
  const refusals = [];
  const refuse = (code, field, text) => refusals.push({ code, field, text });
  for (const [who, side] of [["candidate", candidate], ["control", control]]) {
    if (side.status !== "success") refuse("PAIR-STATUS", "cell_status", `the ${who}'s run is ${side.status}: it has no figure to divide`);
    if (side.gaps.length > 0) refuse("PAIR-REGIME-UNSTATED", side.gaps[0], `the ${who} does not state ${side.gaps.join(", ")}`);
  }
  const same = (field, name, code) => {
    if (said(candidate[field]) !== said(control[field])) {
      refuse(code, field, `${name}: candidate ${said(candidate[field])}, control ${said(control[field])}`);
    }
  };
  same("metric", "metric", "PAIR-METRIC-DIFFERS");
  same("unit", "unit", "PAIR-UNIT-DIFFERS");
  for (const field of [...kRegimeFields, "rate_basis"]) {
    const a = said(candidate.regime[field]), b = said(control.regime[field]);
    if (a !== b) refuse("PAIR-REGIME-DIFFERS", field, `${kRegimeNames[field]} (${field}): candidate ${a}, control ${b}`);
  }
  same("temperature", "temperature", "PAIR-REGIME-DIFFERS");
  same("effort", "reasoning effort", "PAIR-REGIME-DIFFERS");
  same("env_class", "environment", "PAIR-REGIME-DIFFERS");
  same("machine", "machine", "PAIR-MACHINE-DIFFERS");
  same("stack", "serving stack (serving.stack)", "PAIR-STACK-DIFFERS");
  if (candidate.evidence !== control.evidence) {
    refuse("PAIR-EVIDENCE-DIFFERS", "evidence", "the two runs are of different evidence classes");
  }
  if (control.shard !== candidate.shard && control.weights !== "verified") {
    refuse("PAIR-CONTROL-UNVERIFIED", "weights", "the control cannot prove which weights it ran, so it is no baseline");
  }
  const session = sameSession(candidate, control);
  if (session) refuse("PAIR-NOT-SAME-SESSION", "session", `not one session: ${session}`);
  if (!(control.value > 0) || !Number.isFinite(candidate.value)) refuse("PAIR-VALUE", "value", "the control's value is not above zero");
  return refusals.length > 0 ? { ok: false, refusals } : { ok: true, ratio: candidate.value / control.value };
}

// The row that a run's control object speaks of: same metric and unit, and not the control leg itself.
function candidateRow(store, shard, control) {
  let found = null;
  for (const row of rowsOfShard(store, shard)) {
    const combo = comboOf(store, row);
    if (!combo || combo.metric !== control.metric || combo.unit !== control.unit || combo.name === "control") continue;
    if (found === null || combo.name === "candidate") found = row;
  }
  return found;
}

/**
 * The pair that a run itself declares (its `control`): {shard, candidate, control, result}, or null when it declares
 * none. A control that is another envelope is looked up and held against the candidate field by field.
 */
export function declaredPair(store, shard, byEnvelope) {
  const control = store.json.control[shard];
  if (!control || typeof control.value !== "number") return null;
  const row = candidateRow(store, shard, control);
  const refuse = (code, field, text) => ({ shard, row, control, result: { ok: false, refusals: [{ code, field, text }] } });
  if (row === null) {
    return refuse("PAIR-METRIC-DIFFERS", "metric", `the control is ${said(control.metric)} in ${said(control.unit)}, which the run does not report for itself`);
  }
  if (control.same_session !== true) return refuse("PAIR-NOT-SAME-SESSION", "session", "the run does not say that its control was measured in the same session");
  const candidate = describeRow(store, row);
  if (!isMissing(control.envelope_sha256)) {
    const other = byEnvelope.get(control.envelope_sha256);
    if (other === undefined) return refuse("PAIR-CONTROL-MISSING", "control", `the control's run (envelope ${String(control.envelope_sha256).slice(0, 12)}…) is not in this store, so its regime cannot be checked`);
    const otherRow = [...rowsOfShard(store, other)].find((r) => {
      const combo = comboOf(store, r);
      return combo && combo.metric === control.metric && combo.unit === control.unit && combo.name !== "candidate" && combo.basis === candidate.basis;
    });
    if (otherRow === undefined) return refuse("PAIR-METRIC-DIFFERS", "metric", "the control's run has no row of this metric, unit and basis");
    return { shard, row, control, other: otherRow, result: comparePair(candidate, describeRow(store, otherRow)) };
  }
  // Measured inside the same run: one regime, one session, one machine by construction.
  const own = { ...candidate, value: control.value };
  return { shard, row, control, result: comparePair(candidate, own) };
}

export function envelopeMap(store) {
  if (!store.byEnvelope) {
    store.byEnvelope = new Map();
    for (let i = 0; i < store.n; ++i) {
      const sha = store.shards.at("envelope_sha256", i);
      if (sha !== null && !store.byEnvelope.has(sha)) store.byEnvelope.set(sha, i);
    }
  }
  return store.byEnvelope;
}

/** All declared pairs among the passing runs, newest first. */
export function declaredPairs(store, pass) {
  const out = [];
  for (let i = 0; i < store.n; ++i) {
    if (!pass[i] || !store.json.control[i]) continue;
    const pair = declaredPair(store, i, envelopeMap(store));
    if (pair) out.push(pair);
  }
  return out.sort((a, b) => store.time[b.shard] - store.time[a.shard] || b.shard - a.shard);
}

const kRunsNeeded = 4;
const kDaysApart = 5;

/**
 * How far a series is from a final verdict. For each environment class: back-to-back pairs (two successive runs within
 * one session's hours) that agree within 15 % of their mean (ratios: 0.10), five days apart; a pair that disagrees is
 * discarded whole.
 *
 * points  [{time [ms], value, env}], any order
 * returns {isolated, under_load, n, final}; n = the smaller of the two, at most 4
 */
export function verdict(points, unit) {
  const count = (env) => {
    const runs = points.filter((p) => p.env === env && Number.isFinite(p.time)).sort((a, b) => a.time - b.time);
    let valid = 0;
    let last = -Infinity;
    for (let i = 0; i + 1 < runs.length;) {
      const [a, b] = [runs[i], runs[i + 1]];
      if (b.time - a.time > kSessionHoursMax * 3.6e6) {
        i += 1;
        continue;
      }
      const gap = Math.abs(a.value - b.value);
      const agrees = unit === "ratio" ? gap <= 0.10 : a.value > 0 && b.value > 0 && gap <= 0.15 * ((a.value + b.value) / 2);
      if (agrees && a.time - last >= kDaysApart * 864e5) {
        ++valid;
        last = a.time;
      }
      i += 2;
    }
    return Math.min(valid, kRunsNeeded);
  };
  const isolated = count("isolated");
  const underLoad = count("under-load");
  const n = Math.min(isolated, underLoad);
  return { isolated, under_load: underLoad, n, final: n >= kRunsNeeded };
}

/** Verdicts of series over both environments: f(row), from all rows that are the same but for env_class. */
export function verdictsOf(store, allRows) {
  const byIdentity = new Map();
  for (const row of allRows) {
    const identity = store.identity.codes[store.rowShard[row]];
    if (byIdentity.has(identity)) byIdentity.get(identity).push(row);
    else byIdentity.set(identity, [row]);
  }
  return (row) => {
    const points = byIdentity.get(store.identity.codes[store.rowShard[row]]) ?? [];
    return verdict(points.map((r) => ({ time: store.time[store.rowShard[r]], value: store.value[r], env: store.dims.env_class.at(store.rowShard[r]) })), comboOf(store, row).unit);
  };
}

export function provenance(store, shard) {
  return store.json.provenance[shard] ?? parseJson(store.shards.at("provenance_json", shard));
}
