// One sealed score, completely, from the rows of its shard (docs/formats/benchd_score_record.md): verdict, gains with
// their intervals, every leg as a point, gates, correctness, files and digests, how to verify.
import { intervalChart, legsChart } from "./charts.js";
import { h, note } from "./dom.js";
import { formatCount, formatNumber, formatSigned, formatValue, isMissing } from "./format.js";
import { facts, grid } from "./parts.js";

export function isSealed(rows) {
  return rows.some((row) => row.name === "seal" && row.metric === "weights_bytes");
}

const num = (value) => (isMissing(value) ? NaN : Number(value));
const times = (value) => `${formatNumber(value, "x")}×`;

export function sealedSections(rows) {
  const seal = rows.find((row) => row.name === "seal");
  const find = (name, metric) => rows.find((row) => row.name === name && row.metric === metric);
  const tags = seal.tags;
  return [verdictCard(rows, find, tags), gainsCard(find, tags), legsCard(rows), correctnessCard(find("correctness", "checked_steps"), tags), gatesCard(rows),
    filesCard(seal), sourcesCard(tags), verifyCard(tags), everythingCard(tags)].filter(Boolean);
}

function verdictCard(rows, find, tags) {
  const composite = find("composite", "composite");
  const passed = tags.passed === "true" || composite?.tags.passed === "true";
  const error = tags["metrics.error"];
  const t = composite?.tags ?? {};
  const low = num(t.composite_low), high = num(t.composite_high), center = num(t.composite_center);
  const change = num(t.detectable_change), order = num(t.order_effect), aa = num(t.aa_composite);
  return h("section", { class: `card sealed ${passed ? "passed" : "not-passed"}`, "aria-label": "Sealed score" },
    h("div", { class: "hero" },
      h("div", {}, h("p", { class: "over" }, "Composite score"), composite ? h("p", { class: "score" }, times(composite.value)) : h("p", { class: "score none" }, "no score"),
        h("p", {}, h("span", { class: `chip ${passed ? "good" : "bad"}` }, passed ? "✓ passed" : "✕ not passed"),
          h("span", { class: "detail" }, [tags.track_id, tags["metrics.baseline_box"] && `box ${tags["metrics.baseline_box"]}`].filter(Boolean).join(" · ")))),
      composite && h("div", { class: "hero-interval" }, intervalChart({ value: composite.value, low, high, text: times }),
        Number.isFinite(low) ? h("p", { class: "detail" }, `${formatNumber(num(t.confidence) * 100, "count")} % interval ${times(low)} to ${times(high)}, center ${times(center)}, ${t.interval_pairs ?? ""} pairs`)
                             : h("p", { class: "detail" }, "No interval: it takes at least two usable pairs."),
        Number.isFinite(low) && low <= 1 && high >= 1 && h("p", { class: "detail strong" }, "The interval holds 1: this run alone does not show a difference."))),
    !composite && note("error", h("strong", {}, "No composite. "), error ? error : "The run missed a floor, a band or its correctness check."),
    composite && error && note("warning", error),
    composite && h("dl", { class: "inline" }, [
      ["Smallest change it could find", Number.isFinite(change) ? `${formatNumber(change * 100, "%")} %` : ""], ["Order effect", Number.isFinite(order) ? formatSigned(order) : ""],
      ["Reference against itself", Number.isFinite(aa) ? times(aa) : ""], ["Method", t.interval_method ?? ""], ["Combination of pairs", t.official_pair_combine ?? tags.official_pair_combine ?? ""],
    ].filter(([, v]) => v !== "").map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)])));
}

function gainsCard(find, tags) {
  const lines = [["Decode", "decode_gain", "decode", "decode_toks_per_s"], ["Prefill", "prefill_gain", "prefill", "throughput_prompt_toks_per_s"]].map(([title, metric, axis, rate]) => {
    const row = find("composite", metric);
    if (!row) return null;
    const t = row.tags;
    const candidate = find("candidate", rate), control = find("control", rate);
    const low = num(t[`${metric}_low`]), high = num(t[`${metric}_high`]), floor = num(t.floor);
    const tolerance = (v) => (Number.isFinite(num(v)) ? `${formatNumber(num(v) * 100, "count")} %` : "");
    const up = tolerance(t.band_up_tolerance ?? tags[`metrics.acceptance_bands.${axis}_band_up_tolerance`]);
    const down = tolerance(t.band_down_tolerance ?? tags[`metrics.acceptance_bands.${axis}_band_down_tolerance`]);
    return h("div", { class: "gain" }, h("h3", {}, `${title} gain`), h("p", { class: "figure" }, times(row.value)), intervalChart({ value: row.value, low, high, floor, text: times }),
      h("dl", { class: "inline" }, [
        ["Interval", Number.isFinite(low) ? `${times(low)} to ${times(high)}` : ""],
        ["Candidate", candidate ? formatValue(candidate.value, candidate.unit) : ""], ["Control", control ? formatValue(control.value, control.unit) : ""],
        ["Weight in the score", t.weight ?? tags[`metrics.score_${axis}_weight`] ?? ""],
        ["Band", [up && `up ${up}`, down && `down ${down} (${(t.band_down_enabled ?? tags[`metrics.acceptance_bands.${axis}_band_down_enabled`]) === "true" ? "on" : "off"})`].filter(Boolean).join(", ")],
      ].filter(([, v]) => v !== "").map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)])),
      h("p", {}, Number.isFinite(floor) && h("span", { class: `chip ${t.floor_passed === "true" ? "good" : t.floor_passed === "false" ? "bad" : ""}` }, `floor ${times(floor)} ${t.floor_passed === "true" ? "held" : t.floor_passed === "false" ? "missed" : ""}`)));
  }).filter(Boolean);
  if (lines.length === 0) return null;
  const band = tags["metrics.baseline_band_passed"];
  return h("section", { class: "card" }, h("h2", {}, "Gains, control ÷ candidate seconds per token"), h("div", { class: "gains" }, lines),
    band && h("p", {}, h("span", { class: `chip ${band === "true" ? "good" : "bad"}` }, `the control leg was ${band === "true" ? "" : "not "}inside this box's own band`)));
}

const kPhases = [["decode", "Decode, tok/s, each pair"], ["prefill", "Prefill, tok/s, each pair"], ["seed_prefill", "Seed prefill, tok/s (report only)"]];

function legsCard(rows) {
  const legs = rows.filter((row) => row.name === "leg");
  if (legs.length === 0) return null;
  const charts = kPhases.map(([phase, label]) => {
    const pairs = new Map();
    for (const row of legs.filter((r) => r.tags.phase === phase)) {
      const pair = row.tags.pair ?? "?";
      if (!pairs.has(pair)) pairs.set(pair, { pair });
      pairs.get(pair)[row.tags.leg] = { value: row.value, text: `${formatValue(row.value, row.unit)}, ${row.tags.seconds_per_token} s/token` };
    }
    return pairs.size === 0 ? null : legsChart({ pairs: [...pairs.values()].sort((a, b) => Number(a.pair) - Number(b.pair)), unit: "tok/s", label, text: (v) => formatNumber(v, "tok/s") });
  });
  const mismatch = legs.some((row) => Object.keys(row.tags).some((k) => k.startsWith("token_mismatch")));
  return h("section", { class: "card" }, h("h2", {}, "Legs"),
    h("p", { class: "key" }, h("span", { class: "key-control", "aria-hidden": "true" }), "control ", h("span", { class: "key-candidate", "aria-hidden": "true" }), "candidate; a line joins the two legs of one pair"),
    h("div", { class: "legs-grid" }, charts),
    h("details", {}, h("summary", {}, `All ${formatCount(legs.length)} legs, exact`),
      grid(["Pair", "Leg", "Phase", "tok/s", "Seconds per token", "Prompt", mismatch && "Token mismatches"].filter(Boolean), legs.map((row) => [row.tags.pair ?? "", row.tags.leg ?? "", row.tags.phase ?? "", formatNumber(row.value, "tok/s"), row.tags.seconds_per_token ?? "",
        h("code", {}, String(row.tags.prompt_sha256 ?? "").slice(0, 12)), ...(mismatch ? [row.tags.token_mismatch_count ?? ""] : [])]), [3, 4])));
}

function correctnessCard(row, tags) {
  if (!row) return null;
  const verdict = row.tags.verdict ?? "not stated";
  return h("section", { class: "card" }, h("h2", {}, "Correctness"), h("p", {}, h("span", { class: `chip ${verdict === "passed" ? "good" : verdict === "failed" ? "bad" : "warn"}` }, `tokens ${verdict}`),
    ` ${formatCount(row.value)} token${row.value === 1 ? "" : "s"} compared with the golden${row.tags.case_count ? ` in ${row.tags.case_count} cases` : ""}.`),
    (row.tags.first_failing_case || row.tags.first_failing_step) && h("p", {}, `First difference: case ${row.tags.first_failing_case ?? "?"}, step ${row.tags.first_failing_step ?? "?"}${row.tags.first_failing_layer ? `, layer ${row.tags.first_failing_layer}` : ""}.`),
    tags.golden_hash && h("p", { class: "detail" }, "golden ", h("code", {}, tags.golden_hash)));
}

function gatesCard(rows) {
  const gates = rows.filter((row) => row.name === "gate").sort((a, b) => Number(a.tags.gate_index) - Number(b.tags.gate_index));
  if (gates.length === 0) return null;
  const skipped = gates.filter((row) => row.tags.state === "skipped").length;
  return h("section", { class: "card" }, h("h2", {}, "Gates"), h("p", {}, `${formatCount(gates.length - skipped)} passed, `, skipped > 0 ? h("span", { class: "chip warn" }, `${formatCount(skipped)} skipped`) : "none skipped"),
    h("details", { open: gates.length <= 8 }, h("summary", {}, "Each gate, in the order they ran"), grid(["Pair", "Leg", "Before", "Gate", "State", "Waited", "Seen"], gates.map((row) => [
      row.tags.pair ?? "", row.tags.leg ?? "", row.tags.phase ?? "", row.metric === "cool_waited_s" ? "cool" : "quiescence",
      h("span", { class: `chip ${row.tags.state === "passed" ? "good" : "warn"}` }, [row.tags.state, row.tags.skip_reason].filter(Boolean).join(": ")), formatValue(row.value, row.unit),
      [row.tags.load && `load ${row.tags.load}`, row.tags.gpu_util && `GPU ${row.tags.gpu_util}`, row.tags.gpu_temp_c && `${row.tags.gpu_temp_c} °C`].filter(Boolean).join(", ")]), [5])));
}

function filesCard(seal) {
  const t = seal.tags;
  const line = (what, file, sha, more) => (isMissing(sha) && isMissing(file) ? null : [what, h("code", {}, file ?? ""), h("code", {}, sha ?? "not recorded"), more ?? ""]);
  const executable = (who) => line(`${who === "baseline" ? "control" : who} program`, t[`integrity.${who}_executable`], t[`integrity.${who}_executable_sha256`]);
  const rows = [line("score", t.score_file, t.score_sha256), line("integrity", t.integrity_file, t.integrity_sha256), executable("candidate"), executable("baseline"), executable("benchd"),
    line("weights", t["integrity.weights_path"], t["integrity.weights_sha256"] ?? t.weights_hash, typeof seal.value === "number" ? `${formatCount(seal.value)} bytes` : ""),
    line("golden", t["integrity.golden_path"], t["integrity.golden_sha256"] ?? t.golden_hash), line("contract", "", t.contract_sha256), line("calibration", "", t["metrics.baseline_calibration_sha256"]),
    line("harness", "", t["metrics.harness_hash"])].filter(Boolean);
  return h("section", { class: "card" }, h("h2", {}, "Files and digests"), grid(["What", "File", "SHA-256", "Size"], rows, [3]),
    t.integrity_sha256 === undefined && note("warning", "There was no integrity file beside this score: which programs ran is not proven."));
}

function sourcesCard(t) {
  const pick = (pairs) => pairs.map(([k, key]) => [k, t[key]]).filter(([, v]) => !isMissing(v));
  const sources = Object.entries(t).filter(([k]) => k.startsWith("metrics.contract_sources.")).map(([k, v]) => [k.slice("metrics.contract_sources.".length), v]);
  return h("div", { class: "columns" },
    facts("What was run", pick([["track", "metrics.track_name"], ["engine", "metrics.engine_device"], ["backend", "metrics.engine_backend"], ["protocol", "metrics.engine_protocol_version"], ["speculation", "metrics.effective_spec_mode"],
      ["mean draft length", "effective_mean_draft_len"], ["pairs", "metrics.official_pairs"], ["order of legs", "metrics.official_pair_order"], ["combination", "metrics.official_pair_combine"], ["seed tokens", "metrics.seed_tokens"],
      ["judge commit", "metrics.commit"], ["reference commit", "metrics.baseline_reference_commit"], ["sandbox", "integrity.sandbox"], ["runtime", "metrics.runtime"]])),
    facts("Where its terms come from", sources, "Not recorded."));
}

function verifyCard(t) {
  const score = t.score_file ?? "score.json";
  const lines = [t.verify ?? `benchd score verify ${score}`, t.score_sha256 && `sha256sum ${score}    # ${t.score_sha256}`, t.integrity_file && `sha256sum ${t.integrity_file}    # ${t.integrity_sha256}`].filter(Boolean);
  return h("section", { class: "card" }, h("h2", {}, "How to verify"), h("p", {}, "In the folder with the four sealed files. The first command recomputes the score from its legs and checks every byte; the digests below it tie those files to this shard."),
    h("pre", { class: "command", tabindex: 0 }, lines.join("\n")));
}

function everythingCard(tags) {
  const entries = Object.entries(tags).sort(([a], [b]) => (a < b ? -1 : 1));
  return h("details", { class: "card" }, h("summary", {}, `Everything the seal holds (${formatCount(entries.length)} entries)`), h("dl", { class: "tags" }, entries.map(([k, v]) => [h("dt", {}, k), h("dd", {}, String(v))])));
}
