// Run: one shard, all of it: what was measured under which conditions, what proves it, and its bytes checked here.
import { loadShardBytes, readShard, sha256 } from "./data.js";
import { download, emptyNote, h, note, statusChip } from "./dom.js";
import { clip, counted, describeMetric, formatCount, formatTime, formatValue, isMissing } from "./format.js";
import { parseJson, reasonOf, shardByName, shardName, statusOf } from "./model.js";
import { facts, grid, objectFacts } from "./parts.js";
import { isSealed, sealedSections } from "./sealed.js";

const kListMax = 300;

export function runTab(ctx, main) {
  const { store, state, filtered } = ctx;
  const passing = [];
  for (let i = 0; i < store.n; ++i) if (filtered.pass[i]) passing.push(i);
  passing.sort((a, b) => store.time[b] - store.time[a]);
  const shard = state.run ? shardByName(store, state.run) : passing[0] ?? -1;
  main.append(chooser(ctx, passing, shard));
  if (shard < 0) {
    main.append(state.run ? emptyNote("No such run", `${state.run} is not in this store.`) : emptyNote("No run to show", "Nothing passes the filters of the other tabs."));
    return;
  }
  main.append(headCard(ctx, shard));
  const late = h("div", { class: "stack", "aria-busy": "true" }, h("p", { class: "hint" }, "Reading the shard…"));
  main.append(late);
  let stale = false;
  ctx.dispose(() => { stale = true; });
  show(ctx, shard).then((parts) => { if (!stale) late.replaceChildren(...parts); })
    .catch((error) => {
      if (!stale) late.replaceChildren(note("error", h("strong", {}, "The shard cannot be shown. "), error.message), indexFacts(ctx, shard));
    }).finally(() => {
      late.removeAttribute("aria-busy");
      if (!stale) late.dataset.loaded = "yes";
    });
}

function chooser(ctx, passing, shard) {
  const { store } = ctx;
  const label = (i) => `${formatTime(store.time[i])}  ${store.dims.model.at(i) ?? "(no model)"}  ${statusOf(store, i) === "success" ? "" : statusOf(store, i)}`;
  const listed = passing.slice(0, kListMax);
  if (shard >= 0 && !listed.includes(shard)) listed.unshift(shard);
  return h("div", { class: "toolbar" }, h("label", { class: "field grow" }, h("span", {}, "Run"),
    h("select", { "data-key": "sel-run", onchange: (event) => ctx.set({ run: event.target.value }) },
      shard < 0 && h("option", { value: "" }, "choose a run"), listed.map((i) => h("option", { value: shardName(store, i), selected: i === shard }, label(i))))));
}

function badge(kind, text) {
  return h("span", { class: `chip ${kind}` }, text);
}

function headCard(ctx, shard) {
  const { store } = ctx;
  const at = (name) => store.shards.at(name, shard);
  const evidence = ["scored", "experimental", "recovered", "invalid"][store.evidence[shard]];
  const reason = reasonOf(store, shard);
  const next = at("superseded_by");
  return h("section", { class: "card run-head" },
    h("h1", {}, store.dims.model.at(shard) ?? "(no model)"),
    h("p", { class: "detail" }, [at("suite"), store.dims.machine.at(shard), store.dims.engine.at(shard), `${formatTime(store.time[shard])} UTC`].filter(Boolean).join(" · ")),
    h("p", { class: "badges" }, statusChip(statusOf(store, shard)), badge(evidence === "scored" ? "good" : evidence === "invalid" ? "bad" : "warn", evidence),
      badge(store.dims.weights.at(shard) === "verified" ? "good" : "warn", `weights ${store.dims.weights.at(shard)}`), at("era") && badge("", at("era")),
      [["variant", "variant"], ["comparison_group", "group"], ["context_band", "context"], ["completion_state", "completion"]].map(([key, name]) => !isMissing(at(key)) && badge("", `${name}: ${at(key)}`))),
    at("caveat") && note("warning", h("strong", {}, "Caveat. "), at("caveat")),
    next && note("warning", "Superseded by ", h("a", { href: `#tab=run&ev=${ctx.state.ev}&run=${encodeURIComponent(String(next).replace(/^.*\//, ""))}` }, String(next))),
    reason && note(statusOf(store, shard) === "success" ? "warning" : "error", h("strong", {}, "Problems the run reported. "), clip(reason, 400)),
    h("p", { class: "path" }, h("code", {}, String(at("path") ?? ""))));
}

// What the index alone says, when the bytes cannot be had.
function indexFacts(ctx, shard) {
  const pairs = [...Object.keys(ctx.store.shards.block.columns)].map((name) => [name, ctx.store.shards.at(name, shard)]).filter(([, v]) => v !== null);
  return facts("What the index says", pairs);
}

async function show(ctx, shard) {
  const { store } = ctx;
  const at = (name) => store.shards.at(name, shard);
  const name = shardName(store, shard);
  const bytes = await loadShardBytes(name);
  const digest = await sha256(bytes);
  const file = await readShard(bytes);
  const envelope = parseJson(file.envelope);
  const rows = file.rows.map(normalise);
  const first = rows[0] ?? {};
  const out = [];
  if (isSealed(rows)) out.push(...sealedSections(rows));
  else out.push(resultsCard(rows, file));
  out.push(h("div", { class: "columns" },
    facts("Regime", objectFacts(envelope?.regime ?? parseJson(first.regime_json)), "Not stated. A cumulative figure without it compares with nothing."),
    facts("Cache", objectFacts(envelope?.cache ?? parseJson(first.cache_json)), "Not stated."),
    facts("Context", objectFacts(envelope?.context ?? contextOf(first)), "Not stated."),
    facts("System", objectFacts(envelope?.system ?? systemOf(first)), "Not stated."),
    facts("Provenance of the weights", objectFacts(envelope?.provenance ?? parseJson(first.provenance_json)), "None: the run cannot prove which weights it ran."),
    facts("Control", objectFacts(envelope?.control ?? parseJson(first.control_json)), "None: no ratio is shown for this run."),
    facts("Origin", [["git_sha", first.git_sha], ["trigger", first.trigger], ["pr_number", first.pr_number], ["model", first.model], ["model_revision", first.model_revision], ["quantization", first.quantization],
      ["env_class", first.env_class], ["concurrency", first.concurrency], ["reasoning_effort", first.reasoning_effort], ["campaign_id", first.campaign_id], ["campaign_cell_id", first.campaign_cell_id],
      ["campaign_profile", first.campaign_profile], ...objectFacts(parseJson(first.serving)).map(([k, v]) => [`serving.${k}`, v]), ...objectFacts(parseJson(first.gen_kwargs)).map(([k, v]) => [`gen_kwargs.${k}`, v])].filter(([, v]) => !isMissing(v)))));
  const errors = envelope?.errors ?? parseJson(first.errors_json);
  if (Array.isArray(errors) && errors.length > 0) out.push(h("section", { class: "card" }, h("h2", {}, `Errors (${formatCount(errors.length)})`), h("ul", { class: "errors" }, errors.map((e) => h("li", {}, String(e))))));
  if (Array.isArray(envelope?.memory_snapshots) && envelope.memory_snapshots.length > 0) {
    out.push(h("section", { class: "card" }, h("h2", {}, "Memory"), grid(["phase", "rss_gb", "free_gb", "wired_gb", "swap_mb"], envelope.memory_snapshots.map((s) => ["phase", "rss_gb", "free_gb", "wired_gb", "swap_mb"].map((k) => s[k] ?? "")))));
  }
  out.push(await proofCard({ name, bytes, digest, file, indexSha: at("sha256"), indexEnvelope: at("envelope_sha256") }));
  if (isSealed(rows)) out.push(h("details", { class: "card" }, h("summary", {}, `All ${formatCount(file.count)} rows`), resultsTable(rows)));
  out.push(h("details", { class: "card" }, h("summary", {}, "The whole envelope"),
    envelope ? h("pre", { tabindex: 0 }, JSON.stringify(envelope, null, 2).slice(0, 400_000)) : h("p", { class: "hint" }, "The shard's footer holds none.")));
  out.push(h("div", { class: "downloads" },
    h("button", { class: "button", onclick: () => download(name, "application/vnd.apache.parquet", bytes) }, "Download the shard"),
    file.envelope && h("button", { class: "button", onclick: () => download(name.replace(/\.parquet$/, ".envelope.json"), "application/json", file.envelope) }, "Download the envelope")));
  return out;
}

// The oldest layout spells its columns otherwise; tags of early shards are columns only.
function normalise(row) {
  const out = { ...row };
  for (const key of ["name", "metric", "value", "unit"]) if (out[key] === undefined) out[key] = row[`metric_${key}`] ?? null;
  const tags = parseJson(row.tags_json) ?? {};
  for (const [key, value] of Object.entries(row)) if (key.startsWith("tag_") && !isMissing(value) && tags[key.slice(4)] === undefined) tags[key.slice(4)] = String(value);
  out.tags = tags;
  return out;
}
function contextOf(row) {
  return Object.fromEntries(Object.entries(row).filter(([k, v]) => k.startsWith("context_") && !isMissing(v)).map(([k, v]) => [k.slice(8), v]));
}
function systemOf(row) {
  const out = {};
  for (const key of ["os", "chip", "memory_gb", "kernel", "runner", "container", "power_limit_w", "mlx_version", "python_version"]) if (!isMissing(row[key])) out[key] = row[key];
  for (const key of ["gpu", "engine", "topology"]) if (parseJson(row[key])) out[key] = parseJson(row[key]);
  return out;
}

function resultsCard(rows, file) {
  return h("section", { class: "card" }, h("h2", {}, `Results (${formatCount(file.count)})`), file.cut && h("p", { class: "hint" }, `The first ${formatCount(rows.length)} are shown; the shard has them all.`), resultsTable(rows));
}
function resultsTable(rows) {
  return grid(["Task", "Metric", "Value", "Rate basis", "Tags"], rows.map((row) => [
    String(row.name ?? ""), h("span", { title: describeMetric(row.metric).formula || null }, String(row.metric ?? "")),
    row.unit === "status" ? statusChip(String(row.cell_status ?? "not stated")) : typeof row.value === "number" ? formatValue(row.value, row.unit) : "",
    isMissing(row.tags.rate_basis) ? "" : row.tags.rate_basis,
    Object.keys(row.tags).length === 0 ? "" : h("details", {}, h("summary", {}, counted(Object.keys(row.tags).length, "tag")), h("dl", { class: "tags" }, Object.entries(row.tags).map(([k, v]) => [h("dt", {}, k), h("dd", {}, String(v))]))),
  ]), [2]);
}

async function proofCard({ name, bytes, digest, file, indexSha, indexEnvelope }) {
  const check = (label, ok, detail) => h("tr", { "data-check": label }, h("td", {}, label), h("td", {}, h("span", { class: `chip ${ok === true ? "good" : ok === false ? "bad" : ""}` }, ok === true ? "✓ agrees" : ok === false ? "✕ differs" : "not checked")), h("td", {}, h("code", {}, detail)));
  const nameHash = /-([0-9a-f]{8}|[0-9a-f]{16})\.parquet$/.exec(name)?.[1];
  const envelopeDigest = file.envelope === null ? null : await sha256(file.envelope);
  const whole = file.envelope !== null && file.envelope.length < 4 * 1024 * 1024;
  return h("section", { class: "card proof" }, h("h2", {}, "Checked here, in this browser"),
    digest === null && h("p", { class: "hint" }, "This browser computes no digests on this page; the commands below do."),
    h("div", { class: "scroll" }, h("table", {}, h("tbody", {},
      check("SHA-256 of the bytes and the index", digest === null || isMissing(indexSha) ? null : digest === indexSha, digest ?? String(indexSha ?? "")),
      check("SHA-256 of the bytes and the file's name", digest === null || !nameHash ? null : digest.startsWith(nameHash), nameHash ?? "no digest in the name"),
      check("Envelope and its digest in the footer", envelopeDigest === null || !whole ? null : envelopeDigest === file.envelopeSha256, file.envelopeSha256 ?? "no envelope in the footer"),
      check("Envelope digest and the index", isMissing(indexEnvelope) || file.envelopeSha256 === null ? null : indexEnvelope === file.envelopeSha256, String(indexEnvelope ?? ""))))),
    h("p", { class: "hint" }, `${formatCount(bytes.byteLength)} bytes. To check it yourself:`), h("pre", { class: "command" }, `sha256sum ${name}`));
}
