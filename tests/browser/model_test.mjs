// The page's pure half under node. Expected values are arithmetic shown here or rules of the record, never our output.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Column, IndexError, Table } from "../../viewer/columns.js";
import * as format from "../../viewer/format.js";
import * as layouts from "../../viewer/layouts.js";
import * as model from "../../viewer/model.js";
import { comparePair, declaredPair, declaredPairs, describeRow, envelopeMap, verdict } from "../../viewer/pairing.js";
import { parseState, writeState } from "../../viewer/state.js";
import { makeIndex, makeRun, probeRows, smallIndex } from "./fixture.mjs";

const all = { ev: "scored", suite: "throughput", filters: {} };

function opened(runs, extra, state = all) {
  const store = model.buildStore(makeIndex(runs, extra));
  const filtered = model.applyFilters(store, state);
  const combos = model.availableCombos(store, filtered.pass);
  const combo = model.chooseCombo(combos, {});
  return { store, ...filtered, combos, combo, rows: combo ? model.selectRows(store, filtered.pass, combo.id) : [] };
}

test("columns: plain and dictionary coded are the same, -1 and null are missing", () => {
  const table = new Table({ count: 3, columns: { a: ["x", null, "x"], b: { values: ["y"], codes: [0, -1, 0] } } }, "t");
  assert.deepEqual([0, 1, 2].map((i) => table.at("a", i)), ["x", null, "x"]);
  assert.deepEqual([0, 1, 2].map((i) => table.at("b", i)), ["y", null, "y"]);
  assert.equal(table.at("absent", 1), null);
  assert.deepEqual([...new Table({ count: 2, columns: { v: [1.5, null] } }, "t").numbers("v")], [1.5, NaN]);
});

test("columns: wrong lengths, codes and shapes are refused by name", () => {
  const refused = (columns) => assert.throws(() => new Table({ count: 2, columns }, "t").column("a"), (e) => e instanceof IndexError && /^INDEX-FORMAT: column a/.test(e.message));
  refused({ a: ["x"] });
  refused({ a: { values: ["x"], codes: [0] } });
  refused({ a: { values: ["x"], codes: [0, 1] } });
  refused({ a: "text" });
  assert.throws(() => new Table(null, "shards"), /INDEX-FORMAT: shards/);
  assert.throws(() => model.buildStore({ format: "other" }), /assay-view-1/);
  assert.throws(() => model.buildStore(null), IndexError);
  assert.throws(() => model.buildStore(makeIndex([makeRun("a")], { rows: { count: 1, columns: { shard: [7] } } })), /names shard 7/);
});

test("columns: mapped values that become equal share one code", () => {
  const column = new Column(["mlx-community/a", "a", "unknown"], Int32Array.from([0, 1, 2, -1]));
  const mapped = column.map((v) => (format.isMissing(v) ? null : format.shortModel(v)));
  assert.deepEqual([...mapped.codes], [0, 0, -1, -1]);
});

test("formats: digits by unit, blank for what is missing, never 0", () => {
  assert.equal(format.formatValue(0.778, "ratio"), "77.8 %");
  assert.equal(format.formatValue(1204.55, "tok/s"), "1,204.6 tok/s");
  assert.equal(format.formatValue(5.18081, "req/s"), "5.18 req/s");
  assert.equal(format.formatValue(55.6814, "ms"), "55.68 ms");
  assert.equal(format.formatValue(128064, "tokens"), "128,064 tokens");
  assert.equal(format.formatValue(1.0433, "x"), "1.04×");
  for (const missing of [null, undefined, NaN, Infinity]) assert.equal(format.formatValue(missing, "tok/s"), "");
  for (const word of ["n/a", "unknown", "Unstated", "", " - "]) assert.ok(format.isMissing(word), word);
  for (const word of ["0", "off", "baseline"]) assert.ok(!format.isMissing(word), word);
  assert.ok(!format.isMissing(0));
  assert.equal(format.shortModel("mlx-community/Qwen3.5-9B-MLX-4bit"), "Qwen3.5-9B-MLX-4bit");
  assert.equal(format.shortModel("openrouter/openai/gpt-oss"), "openrouter/gpt-oss");
});

test("prompt buckets: half octaves", () => {
  // log2(512) = 9, log2(515) = 9.008: the same half; log2(190) = 7.57 -> 7.5 = 181; log2(2291) = 11.16 -> 11 = 2048.
  assert.equal(format.promptBucket(512), format.promptBucket(515));
  assert.equal(format.promptBucket(190), "~181");
  assert.equal(format.promptBucket(2291), "~2,048");
  assert.equal(format.promptRange(100, 4096), "~91 to ~4,096");
  assert.equal(format.promptBucket(null), null);
});

test("CSV: quotes, NULL is empty, a formula does not run", () => {
  assert.equal(format.toCsv(["a", "b"], [['say "hi", now', null], ["=HYPERLINK(1)", -1.5]]), 'a,b\r\n"say ""hi"", now",\r\n\'=HYPERLINK(1),-1.5\r\n');
  assert.deepEqual(JSON.parse(format.toJson(["a", "b"], [[1, NaN], ["x", undefined]])), [{ a: 1, b: null }, { a: "x", b: null }]);
});

test("every metric of the record has a formula", () => {
  for (const metric of ["throughput_total_toks_per_s", "decode_toks_per_s", "ttft_p50_ms", "itl_p99.9_ms", "tpot_mean_ms", "tpot_incl_first_p50_ms"]) {
    assert.notEqual(format.describeMetric(metric).formula, "", metric);
  }
  // Two tools' "time per token" are not one metric: the formulas differ.
  assert.notEqual(format.describeMetric("tpot_p50_ms").formula, format.describeMetric("tpot_incl_first_p50_ms").formula);
});

test("evidence: without a readable index everything is experimental", () => {
  assert.equal(model.evidenceOf("ok", "scored"), "scored");
  assert.equal(model.evidenceOf("ok", "gold"), "experimental");
  for (const state of ["missing", "unreadable"]) {
    const store = model.buildStore(smallIndex({ index: { state, problem: "x" } }));
    const counts = model.evidenceCounts(store);
    assert.deepEqual([counts[0], counts[2], counts[3]], [0, 0, 0]);
    assert.equal(model.firstEvidence(store), "experimental");
  }
});

test("the view opens on the first class that has data", () => {
  assert.equal(model.firstEvidence(model.buildStore(makeIndex([makeRun("a", { evidence: "recovered" }), makeRun("b", { evidence: "invalid" })]))), "recovered");
  assert.equal(model.firstEvidence(model.buildStore(makeIndex([]))), "scored");
});

test("selectors: only what exists; the headline first; suites without data stay listed", () => {
  const { store, combos, combo } = opened([makeRun("a"), makeRun("b", { model: "other" })]);
  assert.equal(combo.metric, model.kHeadline);
  assert.ok(combos.every((c) => c.rows > 0));
  assert.equal(model.suiteCounts(store, "scored").get("ttft"), 0);
  // Without the headline: the combination that compares most models.
  const quality = (id, name, name2) => makeRun(id, { suite: "reasoning", model: id, rows: [{ name, metric: "m", value: 0.5, unit: "ratio" }, ...(name2 ? [{ name: name2, metric: "m", value: 0.5, unit: "ratio" }] : [])] });
  const other = opened([quality("x", "rare", "common"), quality("y", "common")], {}, { ...all, suite: "reasoning" });
  assert.equal(other.combo.name, "common");
});

test("selectors: a rate of another basis is another choice, the row's own basis wins", () => {
  const { combos } = opened([makeRun("a")]);
  const basis = Object.fromEntries(combos.map((c) => [c.metric, c.basis]));
  assert.equal(basis.throughput_total_toks_per_s, "request");
  assert.equal(basis.throughput_output_toks_per_s, "decode_window");
  assert.equal(basis.ttft_p50_ms, "");
  assert.equal(model.chooseCombo(combos, { metric: "gone" }).metric, model.kHeadline);
  assert.equal(model.chooseCombo(combos, { metric: "ttft_p50_ms" }).metric, "ttft_p50_ms");
});

test("tags of a run hold for its rows, null takes one away", () => {
  const index = makeIndex([makeRun("a", { tags_json: '{"phase":"sequential","partial":"true"}', rows: [{ name: "p", metric: "m", value: 1, unit: "x", tags: { partial: null, width: "2" } }] })]);
  assert.deepEqual(model.tagsOf(model.buildStore(index), 0), { phase: "sequential", width: "2" });
});

test("filters narrow each other, not themselves", () => {
  const runs = [makeRun("a", { model: "m1", chip: "c1" }), makeRun("b", { model: "m1", chip: "c2" }), makeRun("c", { model: "m2", chip: "c2" })];
  const store = model.buildStore(makeIndex(runs));
  const labels = (options) => options.filter((o) => o.count > 0).map((o) => o.label);
  const filtered = model.applyFilters(store, { ...all, filters: { model: ["m2"] } });
  assert.equal(filtered.count, 1);
  assert.deepEqual(labels(filtered.options.machine), ["c2 · 128 GB"]);
  assert.deepEqual(labels(filtered.options.model), ["m1", "m2"]);
  // A choice that another filter emptied stays visible, so that it can be taken back.
  const clash = model.applyFilters(store, { ...all, filters: { model: ["m2"], machine: ["c1 · 128 GB"] } });
  assert.equal(clash.count, 0);
  assert.deepEqual(clash.options.machine.map((o) => [o.label, o.count, o.chosen]), [["c1 · 128 GB", 0, true], ["c2 · 128 GB", 1, false]]);
});

test("filters and lines are in the order of their numbers, what is not stated last", () => {
  const window = (id, tokens) => makeRun(id, { context_configured_window_tokens: tokens });
  const { store, pass, options } = opened([window("a", 131072), window("b", null), window("c", 4096), window("d", 16384)]);
  const inOrder = ["4,096", "16,384", "131,072", null];  // as texts 131,072 and 16,384 would come before 4,096
  assert.deepEqual(options.window.map((o) => o.label), ["4,096", "16,384", "131,072", ""]);
  assert.deepEqual(layouts.pivot(store, pass).lines.map((line) => store.dims.window.at(store.rowShard[line.latest])), inOrder);
});

test("filters: dates are whole days in UTC, a missing value is its own choice", () => {
  const runs = [makeRun("a", { timestamp: "2026-10-01T23:59:59Z" }), makeRun("b", { timestamp: "2026-10-02T00:00:00Z", quantization: "unknown" })];
  const store = model.buildStore(makeIndex(runs));
  assert.equal(model.applyFilters(store, { ...all, to: "2026-10-01" }).count, 1);
  assert.equal(model.applyFilters(store, { ...all, from: "2026-10-02" }).count, 1);
  assert.deepEqual(model.applyFilters(store, all).options.quantization.map((o) => o.label), ["mlx-4bit", ""]);
  assert.equal(model.applyFilters(store, { ...all, filters: { quantization: [""] } }).count, 1);
});

test("series: the latest run of each; efforts, windows and settings are never averaged or merged", () => {
  const at = (n) => ({ timestamp: `2026-10-0${n}T00:00:00Z` });
  const { store, rows } = opened([
    makeRun("a", { ...at(2), rows: probeRows(20) }), makeRun("b", { ...at(1), rows: probeRows(10) }),
    makeRun("c", { ...at(1), reasoning_effort: "high", rows: probeRows(30) }), makeRun("d", { ...at(1), reasoning_effort: "low", rows: probeRows(50) }),
    makeRun("e", { ...at(1), context_configured_window_tokens: 131072, rows: probeRows(60) }), makeRun("f", { ...at(1), rows: probeRows(70, { n_threads: "8" }) }),
    makeRun("g", { ...at(1), env_class: "under-load", rows: probeRows(80) }),
  ]);
  const values = model.seriesOf(store, rows).map((s) => store.value[s.latest]).sort((a, b) => a - b);
  assert.deepEqual(values, [20, 30, 50, 60, 70, 80]);
});

test("series: ratios of different figures of one run stay apart", () => {
  const ratio = (of, value) => ({ name: "throughput_probe", metric: "control_ratio", value, unit: "x", tags: { ratio_of: of } });
  const { store, rows } = opened([makeRun("a", { rows: [ratio("ttft_p50_ms", 0.9), ratio("throughput_total_toks_per_s", 1.1)] })]);
  const series = model.seriesOf(store, rows);
  model.nameSeries(store, series);
  assert.deepEqual(series.map((s) => [s.detail, store.value[s.latest]]), [["ratio of ttft_p50_ms", 0.9], ["ratio of throughput_total_toks_per_s", 1.1]]);
});

test("series: names that others gave keep their underscores, words of ours lose them", () => {
  const run = (id, facts) => makeRun(id, { model: "my_model", ...facts });
  const { store, rows } = opened([run("a", { quantization: "Q4_1" }), run("b", { quantization: "Q8_0" }),
    run("c", { quantization: "Q4_1", prefix_policy: "shared_prefix", cache_json: '{"prefix_policy":"shared_prefix"}' })]);
  const series = model.seriesOf(store, rows);
  model.nameSeries(store, series);
  const labels = series.map((s) => s.label).sort();
  assert.equal(labels.filter((label) => /^my_model · .*Q4_1/.test(label)).length, 2, labels.join("; "));
  assert.equal(labels.filter((label) => label.includes("shared prefix")).length, 1, labels.join("; "));
  assert.equal(format.shown("model", "my_model"), "my_model");
  assert.equal(format.shown("status", "capacity_gated"), "capacity gated");
  assert.deepEqual([1, 2, 1000].map((n) => format.counted(n, "tag")), ["1 tag", "2 tags", "1,000 tags"]);
});

test("series: runs with an incomplete regime never merge", () => {
  const loose = { prefix_policy: null, cache_json: null };
  const { store, rows } = opened([makeRun("a", loose), makeRun("b", loose), makeRun("c"), makeRun("d")]);
  const series = model.seriesOf(store, rows);
  assert.deepEqual(series.map((s) => s.rows.length).sort(), [1, 1, 2]);
  assert.deepEqual(model.regimeGaps(store, rows[0]), ["prefix policy"]);
  model.nameSeries(store, series);
  const labels = series.map((s) => s.label);
  assert.equal(new Set(labels).size, 3);
  const again = model.seriesOf(store, rows);
  model.nameSeries(store, again, { max: 2 });
  assert.deepEqual(again.map((s) => s.label), [...labels.slice(0, 2), undefined], "naming fewer does not change the names");
});

test("compare: ranks hold inside one regime and leave out the unverified and the unstated", () => {
  const { store, rows } = opened([
    makeRun("a", { model: "a", rows: probeRows(100) }), makeRun("b", { model: "b", rows: probeRows(200) }), makeRun("t", { model: "t", rows: probeRows(200) }),
    makeRun("c", { model: "c", weights: "unverified", rows: probeRows(999) }), makeRun("d", { model: "d", prefix_policy: null, cache_json: null, rows: probeRows(999) }),
    makeRun("e", { model: "e", prefix_policy: "shared_prefix", rows: probeRows(999) }), makeRun("f", { model: "f", rows: probeRows(999, { regime: "unstated" }) }),
  ]);
  const groups = model.compareGroups(store, rows, { ranking: true });
  const main = groups.find((g) => g.ranked.length === 3);
  assert.deepEqual(main.ranked.map((s) => [s.rank, s.model]), [[1, "b"], [1, "t"], [3, "a"]]);
  assert.deepEqual(main.unranked.map((s) => s.model), ["c", "f"]);
  assert.deepEqual(groups.filter((g) => g !== main).map((g) => [...g.ranked, ...g.unranked].map((s) => s.model)).sort(), [["d"], ["e"]]);
  assert.ok(model.compareGroups(store, rows, { ranking: false }).every((g) => g.ranked.length === 0));
});

test("compare: less is better for latencies, unless the row says otherwise", () => {
  assert.ok(format.lowerIsBetter("ttft_p50_ms", "ms"));
  assert.ok(!format.lowerIsBetter("throughput_total_toks_per_s", "tok/s"));
  assert.ok(!format.lowerIsBetter("x", "ms", "true"));
  assert.ok(format.lowerIsBetter("word_perplexity", "perplexity"));
  const { store, pass, combos } = opened([makeRun("slow", { model: "slow", rows: probeRows(10) }), makeRun("fast", { model: "fast", rows: probeRows(100) })]);
  const ttft = combos.find((c) => c.metric === "ttft_p50_ms");
  assert.deepEqual(model.compareGroups(store, model.selectRows(store, pass, ttft.id), { ranking: true })[0].ranked.map((s) => s.model), ["fast", "slow"]);
});

test("a status is no figure: no row, no combination, and it is counted", () => {
  const { store, pass, rows } = opened([makeRun("a"), makeRun("b", { cell_status: "failed", rows: [{ name: "cell", metric: "cell_status", value: null, unit: "status" }] }),
    makeRun("c", { rows: probeRows(5, { n_err: "2" }) })]);
  assert.equal(rows.length, 2);
  assert.deepEqual(model.statusRuns(store, pass), [1]);
  assert.deepEqual(model.tally(store, pass, rows), { statuses: [["failed", 1]], failed: 1, requests: 2 });
  assert.deepEqual(model.flagsOf(store, rows[1]), ["2 failed requests"]);
});

test("a run published twice counts once", () => {
  const a = makeRun("a");
  const twin = makeRun("a2", { path: a.path.replace("/run-", "/run-canonical-run-") });
  const again = makeRun("a3", { envelope_sha256: a.envelope_sha256 });
  assert.equal(opened([a, twin]).count, 1);
  assert.equal(opened([a, again]).count, 1);
  assert.equal(opened([a, makeRun("b")]).count, 2);
});

test("a superseded run is no latest run and takes no rank", () => {
  const { store, rows } = opened([makeRun("old", { timestamp: "2026-11-01T00:00:00Z", superseded_by: "data/run-new.parquet", rows: probeRows(9) }), makeRun("new", { rows: probeRows(5) })]);
  assert.deepEqual(model.seriesOf(store, rows).map((s) => store.value[s.latest]), [5]);
  assert.ok(model.rankProblems(store, rows[0]).includes("superseded"));
});

test("rows inside a sealed run are not figures to compare", () => {
  const row = (name, metric, value, unit, tags) => ({ name, metric, value, unit, tags });
  const { combos } = opened([makeRun("s", { rows: [row("candidate", "decode_toks_per_s", 5, "tok/s", { rate_basis: "decode_window" }), row("leg", "decode_toks_per_s", 5, "tok/s", { pair: "1" }),
    row("gate", "cool_waited_s", 0, "s", {}), row("correctness", "checked_steps", 64, "tokens", {}), row("seal", "weights_bytes", 9, "bytes", {})] })]);
  assert.deepEqual(combos.map((c) => c.name), ["candidate"]);
  assert.equal(opened([makeRun("o", { rows: [row("gate", "accuracy", 1, "ratio", {})] })]).combos.length, 1);
});

test("intervals come from the row's own tags", () => {
  const { store, rows } = opened([makeRun("a", { rows: probeRows(100) })]);
  assert.deepEqual(model.intervalOf(store, rows[0]), { low: 97, high: 102, kind: "min–max" });
  const gain = opened([makeRun("b", { rows: [{ name: "composite", metric: "decode_gain", value: 1.1, unit: "x", tags: { decode_gain_low: "0.9", decode_gain_high: "1.3" } }] })]);
  assert.deepEqual(model.intervalOf(gain.store, gain.rows[0]), { low: 0.9, high: 1.3, kind: "95 % interval" });
});

const pairOf = (a, b) => {
  const { store, combo } = opened([makeRun("a", { campaign_id: "s", ...a }), makeRun("b", { campaign_id: "s", ...b })]);
  const row = (shard) => [...model.rowsOfShard(store, shard)].find((r) => store.rowCombo[r] === combo.id);
  return comparePair(describeRow(store, row(0)), describeRow(store, row(1)));
};
const fields = (result) => result.refusals?.map((r) => `${r.code} ${r.field}`);

test("pair: equal regimes of one session divide", () => {
  assert.deepEqual(pairOf({ rows: probeRows(112.5) }, { rows: probeRows(100) }), { ok: true, ratio: 1.125 });
});

test("pair: each regime field that differs is named", () => {
  const cases = [
    [{ prefix_policy: "shared_prefix" }, "prefix_policy"], [{ regime: { max_tokens: 64 } }, "max_tokens"], [{ concurrency: 4 }, "concurrency"],
    [{ regime: { thinking: "high" } }, "thinking"], [{ regime: { streaming: false } }, "streaming"], [{ regime: { prompt_tokens_min: 4096, prompt_tokens_max: 4096 } }, "prompt"],
    [{ regime: { temperature: 1 } }, "temperature"], [{ reasoning_effort: "high" }, "effort"], [{ env_class: "under-load" }, "env_class"],
  ];
  for (const [change, field] of cases) assert.deepEqual(fields(pairOf(change, {})), [`PAIR-REGIME-DIFFERS ${field}`], field);
  const two = fields(pairOf({ concurrency: 4, regime: { max_tokens: 64 } }, {}));
  assert.deepEqual(two, ["PAIR-REGIME-DIFFERS max_tokens", "PAIR-REGIME-DIFFERS concurrency"]);
});

test("pair: another machine, stack, session, evidence or unproven control is refused by name", () => {
  assert.deepEqual(fields(pairOf({ chip: "other" }, {})), ["PAIR-MACHINE-DIFFERS machine"]);
  assert.deepEqual(fields(pairOf({ serving: '{"stack":"vllm"}' }, {})), ["PAIR-STACK-DIFFERS stack"]);
  assert.deepEqual(fields(pairOf({ campaign_id: "t" }, {})), ["PAIR-NOT-SAME-SESSION session"]);
  assert.deepEqual(fields(pairOf({ timestamp: "2026-10-01T14:00:00Z" }, {})), undefined);  // four hours: still one session
  assert.deepEqual(fields(pairOf({ timestamp: "2026-10-01T14:00:01Z" }, {})), ["PAIR-NOT-SAME-SESSION session"]);
  assert.deepEqual(fields(pairOf({}, { weights: "unverified" })), ["PAIR-CONTROL-UNVERIFIED weights"]);
  assert.deepEqual(fields(pairOf({ prefix_policy: null, cache_json: null }, {})), ["PAIR-REGIME-UNSTATED prefix policy", "PAIR-REGIME-DIFFERS prefix_policy"]);
});

test("pair: other metrics and bases do not divide", () => {
  const { store } = opened([makeRun("a", { campaign_id: "s" }), makeRun("b", { campaign_id: "s" })]);
  const row = (shard, metric) => [...model.rowsOfShard(store, shard)].find((r) => model.comboOf(store, r).metric === metric);
  const result = comparePair(describeRow(store, row(0, "throughput_total_toks_per_s")), describeRow(store, row(1, "ttft_p50_ms")));
  assert.deepEqual(fields(result), ["PAIR-METRIC-DIFFERS metric", "PAIR-UNIT-DIFFERS unit", "PAIR-REGIME-DIFFERS rate_basis"]);
});

test("pair: a declared control is looked up, and held against its candidate", () => {
  const store = model.buildStore(smallIndex());
  const { pass } = model.applyFilters(store, all);
  const byName = Object.fromEntries(declaredPairs(store, pass).map((p) => [model.shardName(store, p.shard).replace(/-[0-9a-f]{8}\.parquet$/, ""), p]));
  assert.deepEqual(byName["run-pair-candidate"].result, { ok: true, ratio: 1.125 });
  assert.deepEqual(fields(byName["run-pair-shared"].result), ["PAIR-REGIME-DIFFERS prefix_policy"]);
  const control = { metric: "throughput_total_toks_per_s", value: 100, unit: "tok/s" };
  const declared = (change) => {
    const { store: s } = opened([makeRun("a", { control: { ...control, ...change } })]);
    return declaredPair(s, 0, envelopeMap(s));
  };
  assert.equal(declared({ same_session: true }).result.ratio, 1.5);  // 150 ÷ 100
  assert.deepEqual(fields(declared({}).result), ["PAIR-NOT-SAME-SESSION session"]);
  assert.deepEqual(fields(declared({ same_session: true, envelope_sha256: "f".repeat(64) }).result), ["PAIR-CONTROL-MISSING control"]);
  assert.deepEqual(fields(declared({ same_session: true, metric: "goodput" }).result), ["PAIR-METRIC-DIFFERS metric"]);
});

test("verdict: four agreeing pairs, five days apart, in each environment", () => {
  const day = 864e5;
  const pair = (d, a, b, env = "isolated") => [{ time: d * day, value: a, env }, { time: d * day + 6e5, value: b, env }];
  const four = [0, 5, 10, 15].flatMap((d) => pair(d, 100, 101));
  assert.deepEqual(verdict(four, "tok/s"), { isolated: 4, under_load: 0, n: 0, final: false });
  assert.equal(verdict([...four, ...[1, 6, 11, 16].flatMap((d) => pair(d, 90, 91, "under-load"))], "tok/s").final, true);
  // |100 − 120| ÷ 110 = 18 % disagrees; |100 − 115| ÷ 107.5 = 14 % agrees. Four days are too near.
  assert.equal(verdict(pair(0, 100, 120), "tok/s").isolated, 0);
  assert.equal(verdict(pair(0, 100, 115), "tok/s").isolated, 1);
  assert.equal(verdict([...pair(0, 100, 100), ...pair(4, 100, 100)], "tok/s").isolated, 1);
  assert.equal(verdict(pair(0, 0, 0), "tok/s").isolated, 0);  // two zeros agree on nothing
  // Bounded rates: 0.10 apart at most.
  assert.equal(verdict(pair(0, 0.5, 0.59), "ratio").isolated, 1);
  assert.equal(verdict(pair(0, 0.5, 0.61), "ratio").isolated, 0);
  // Single runs on different days are no back-to-back pairs.
  assert.equal(verdict([{ time: 0, value: 1, env: "isolated" }, { time: day, value: 1, env: "isolated" }], "tok/s").isolated, 0);
});

test("campaign: profile and window down, target across, every status kept", () => {
  const store = model.buildStore(smallIndex());
  const { pass } = model.applyFilters(store, all);
  const matrix = layouts.campaignMatrix(store, pass, "clean-reset");
  assert.deepEqual(matrix.targets, [32000, 64000, 128000, 192000]);
  assert.deepEqual(Object.fromEntries(matrix.counts), { success: 5, failed: 1, capacity_gated: 1, aborted: 1, unsupported: 1, not_applicable: 1 });
  const cell = matrix.lines.find((l) => l.profile === "mtp" && l.window === 131072).cells.get(64000);
  assert.equal(cell.status, "capacity_gated");
  assert.deepEqual(cell.figures, {});
  assert.match(cell.reason, /guard's own words/);
});

// One run of a probe: its measured rows, and what its first request took. `phase` is the only thing that tells them apart.
const contactRows = (phase, state = "cold") => [
  ...probeRows(100, { phase: "sequential" }),
  { name: "throughput_probe", metric: "readiness_ttft_ms", value: 8120, unit: "ms", tags: { phase, initial_model_state: state, scored: "false" } },
  { name: "throughput_probe", metric: "ttft_p50_ms", value: 9130, unit: "ms", tags: { phase, initial_model_state: state, scored: "false" } },
  { name: "throughput_probe", metric: "throughput_total_toks_per_s", value: 7, unit: "tok/s", tags: { rate_basis: "request", phase, scored: "false" } },
];
const contact = (phase, change = {}) => opened([makeRun("a", { campaign_id: "c", campaign_profile: "base", rows: contactRows(phase), ...change })]);
// The same assertions over the first request's rows (none may enter) and, as the control, over the same rows of a measured phase.
for (const [phase, enters] of [["readiness", false], ["sequential", true]]) {
  const strangers = [8120, 9130, 7];
  const found = (values) => values.filter((value) => strangers.includes(value));
  const expect = (values, all) => assert.deepEqual(found(values), enters ? all : []);

  test(`compare and trend: rows of phase ${phase} ${enters ? "enter" : "stay out"}`, () => {
    const { store, pass, combos, rows } = contact(phase);
    assert.equal(combos.some((c) => c.metric === "readiness_ttft_ms"), enters, "selectors");
    expect(rows.map((row) => store.value[row]), [7]);
    assert.equal(found(rows.map((row) => store.value[row])).length + 1, rows.length, "the measured row is there");
    expect(model.compareGroups(store, rows, { ranking: true }).flatMap((g) => [...g.ranked, ...g.unranked]).flatMap((s) => s.rows.map((row) => store.value[row])), [7]);
    const ttft = combos.find((c) => c.metric === "ttft_p50_ms");
    expect(model.seriesOf(store, model.selectRows(store, pass, ttft.id)).flatMap((s) => s.rows.map((row) => store.value[row])), [9130]);
  });

  test(`table: rows of phase ${phase} ${enters ? "enter" : "stay out"}`, () => {
    const { store, pass } = contact(phase);
    const { columns, lines } = layouts.pivot(store, pass);
    assert.equal(columns.some((c) => c.metric === "readiness_ttft_ms"), enters);
    expect(lines.flatMap((line) => line.cells.filter((row) => row >= 0).map((row) => store.value[row])).sort((a, b) => a - b), [7, 8120, 9130]);
  });

  test(`context: rows of phase ${phase} ${enters ? "enter" : "stay out"}`, () => {
    const { store, pass } = contact(phase);
    const points = layouts.contextPanels(store, pass).flatMap((p) => p.curves.flatMap((c) => layouts.pointsOf(store, c).map(([, value]) => value)));
    expect(points.sort((a, b) => a - b), [7, 9130]);  // the later row of one length stands
  });

  test(`pair: rows of phase ${phase} ${enters ? "enter" : "stay out"}`, () => {
    // Only the first request's rows have this metric: it can be divided when it was measured.
    const control = { metric: "readiness_ttft_ms", value: 4060, unit: "ms", same_session: true };
    const { store } = contact(phase, { control });
    const { result } = declaredPair(store, 0, envelopeMap(store));
    if (enters) assert.deepEqual(result, { ok: true, ratio: 2 });  // 8120 ÷ 4060
    else assert.deepEqual(fields(result), ["PAIR-METRIC-DIFFERS metric"]);
  });

  test(`campaign: rows of phase ${phase} are ${enters ? "figures" : "shown apart, with the model's state"}`, () => {
    const { store, pass } = contact(phase);
    const [line] = layouts.campaignMatrix(store, pass, "c").lines;
    const { figures, readiness } = [...line.cells.values()][0];
    assert.deepEqual(Object.values(figures).map((row) => store.value[row]), [100, 12.5, 100 * 1.1, 512], "the first measured row of each kind");
    assert.equal(readiness.state, enters ? null : "cold");
    assert.deepEqual(readiness.rows.map((row) => store.value[row]), enters ? [] : [8120, 9130, 7]);
  });
}

test("readiness: only the tag phase says so, of the row or of its run; not a name, not another phase", () => {
  const row = (name, metric, tags) => ({ name, metric, value: 5, unit: "s", tags });
  const phases = (run, ...rows) => [...model.buildStore(makeIndex([makeRun("a", { ...run, rows })])).readiness];
  assert.deepEqual(phases({}, row("readiness", "readiness_total_s"), row("x", "m", { phase: "first_request" }), row("x", "m", { phase: "readiness" })), [0, 0, 1]);
  assert.deepEqual(phases({ tags_json: '{"phase":"readiness"}' }, row("x", "m"), row("x", "m", { phase: "sequential" }), row("x", "m", { phase: null })), [1, 0, 0]);
  assert.deepEqual(phases({}, row("x", "m", { note: '"phase":"readiness"' }), row("x", "m", { phase: "\\readiness" })), [0, 0]);
  for (const state of ["cold", "resident", "unknown"]) {
    const store = model.buildStore(makeIndex([makeRun("a", { rows: contactRows("readiness", state) })]));
    assert.equal(layouts.cellReadiness(store, 0).state, state);
  }
});

test("context: one unit and basis a panel; a window of another size is another curve", () => {
  const store = model.buildStore(smallIndex());
  const { pass } = model.applyFilters(store, all);
  const panels = layouts.contextPanels(store, pass);
  assert.deepEqual(panels.map((p) => [p.kind, p.basis, p.unit]), [["cumulative", "request", "tok/s"], ["decode", "decode_window", "tok/s"], ["prefill", "prefill_window", "tok/s"], ["ttft", "", "ms"]]);
  const names = new Map(layouts.namedCurves(store, panels, Infinity).list.map((c) => [c.id, c.label]));
  const base = panels[0].curves.filter((c) => names.get(c.id).includes("Qwen3.8-27B") && names.get(c.id).includes("base")).sort((a, b) => b.xs.length - a.xs.length);
  assert.deepEqual(base.map((c) => layouts.pointsOf(store, c).map(([x, value]) => [x, value])), [[[32003, 165.2], [64003, 141], [128003, 98.7]], [[32003, 166.9]]]);
});

test("table: cumulative and decode side by side, a blank where there is none", () => {
  const quiet = makeRun("b", { model: "quiet", rows: probeRows(10).slice(0, 1) });
  const { store, pass } = opened([makeRun("a"), quiet]);
  const table = layouts.pivot(store, pass);
  assert.deepEqual(table.columns.slice(0, 2).map((c) => layouts.kindOf(c)), ["cumulative", "decode"]);
  assert.equal(table.lines.find((l) => l.model === "quiet").cells[1], -1);
  const long = layouts.longRow(store, 0, "scored");
  assert.equal(long.length, layouts.kLongHeader.length);
  assert.equal(long[layouts.kLongHeader.indexOf("rate_basis")], "request");
});

test("the address holds the whole state, and garbage in it is left out", () => {
  const state = { tab: "trend", ev: "recovered", suite: "throughput", metric: "a&b=c", filters: { model: ["x/y", ""], weights: ["verified"] }, series: ["s · 1", "s · 2"], from: "2026-01-02", page: 3 };
  const back = parseState(writeState(state));
  for (const [key, value] of Object.entries(state)) assert.deepEqual(back[key], value, key);
  const odd = parseState("#tab=<script>&ev=gold&from=yesterday&page=-1&f.nothing=1");
  assert.deepEqual([odd.tab, odd.ev, odd.from, odd.page, odd.filters], ["compare", null, undefined, 1, {}]);
  assert.equal(parseState("").tab, "compare");
});
