// Compare: the latest run of each series as a bar, in groups that may be compared. Ranks only where a rank means something.
import { barTrack } from "./charts.js";
import { h } from "./dom.js";
import { basisName, describeMetric, formatCount, formatDay, formatNumber, formatTime, formatUnit, formatValue } from "./format.js";
import { comboOf, compareGroups, flagsOf, intervalOf, nameSeries, rankProblems, regimeText } from "./model.js";
import { verdictsOf } from "./pairing.js";
import { downloads, nothingHere, regimeTitle, runLink, statusList } from "./parts.js";

const kBarsMax = 16;       // of the first group; later ones are cut sooner
const kBarsMaxLater = 6;
const kGroupsMax = 8;

export function compareTab(ctx, main) {
  const { store, rows, state, combo } = ctx;
  const ranking = state.ev === "scored";
  if (!combo || rows.length === 0) {
    main.append(nothingHere(ctx));
    main.append(statusList(ctx));
    return;
  }
  const groups = compareGroups(store, rows, { ranking });
  main.append(h("div", { class: "toolbar" },
    h("p", { class: "hint" }, ranking ? "Latest run of each series. Ranks hold inside a group only: its members ran under equal conditions."
                                      : "Latest run of each series, in order of name. No ranks here."),
    downloads(ctx, "compare", () => groups.flatMap((g) => [...g.ranked, ...g.unranked]).map((s) => s.latest))));
  const shown = ctx.ui.all.has("groups") ? groups : groups.slice(0, kGroupsMax);
  const verdicts = ranking ? verdictsOf(store, rows) : null;
  shown.forEach((group, at) => main.append(groupSection(ctx, group, verdicts, at === 0 ? kBarsMax : kBarsMaxLater)));
  if (groups.length > shown.length) {
    main.append(h("button", { class: "button", "data-key": "all-groups", onclick: () => { ctx.ui.all.add("groups"); ctx.redraw(); } },
      groups.length - shown.length === 1 ? "Show 1 more group of other conditions" : `Show ${formatCount(groups.length - shown.length)} more groups of other conditions`));
  }
  main.append(statusList(ctx));
}

function groupSection(ctx, group, verdicts, barsMax) {
  const { store, combo, ui } = ctx;
  const total = group.ranked.length + group.unranked.length;
  const budget = ui.all.has(group.key) ? Infinity : barsMax;
  const ranked = group.ranked.slice(0, budget);
  const unranked = group.unranked.slice(0, Math.max(0, budget - ranked.length));
  const all = [...ranked, ...unranked];
  nameSeries(store, all);
  const intervals = new Map(all.map((s) => [s, intervalOf(store, s.latest)]));
  const max = all.reduce((high, s) => Math.max(high, s.value, intervals.get(s)?.high ?? 0), 0);
  const lead = comboOf(store, all[0].latest);
  const list = (series, tag, kind) => h(tag, { class: "bars" }, series.map((s) => bar(ctx, s, max, intervals.get(s), kind, verdicts)));
  const hidden = total - all.length;
  return h("section", { class: "group-card" },
    h("header", {}, h("h2", {}, regimeTitle(group, describeMetric(lead.metric).label)),
      h("p", {}, `${formatCount(total)} series · ${lead.unit === "" ? "no unit" : lead.unit}${combo.basis ? ` · ${basisName(combo.basis)}` : ""}${group.lower ? " · less is better" : ""}`)),
    ranked.length > 0 && list(ranked, "ol", "ranked"),
    unranked.length > 0 && ctx.state.ev === "scored" && h("h3", { class: "sub" }, "Not ranked"),
    unranked.length > 0 && list(unranked, "ul", "unranked"),
    hidden > 0 && h("button", { class: "button", "data-key": `all-${group.key}`, onclick: () => { ui.all.add(group.key); ctx.redraw(); } }, `Show ${formatCount(hidden)} more`));
}

function bar(ctx, series, max, interval, kind, verdicts) {
  const { store } = ctx;
  const row = series.latest;
  const shard = store.rowShard[row];
  const { unit } = comboOf(store, row);
  const flags = flagsOf(store, row);
  const state = verdicts !== null && kind === "ranked" ? verdicts(row) : null;
  const caveat = store.shards.at("caveat", shard);
  const about = [
    series.label, `${formatValue(series.value, unit)}${interval ? ` (${interval.kind} ${formatNumber(interval.low, unit)} to ${formatNumber(interval.high, unit)})` : ""}`,
    regimeText(store, row), `${ctx.state.ev}, ${store.dims.era.at(shard) ?? "era not stated"}, weights ${store.dims.weights.at(shard)}`,
    `${formatTime(store.time[shard])} UTC, ${formatCount(series.rows.length)} run${series.rows.length === 1 ? "" : "s"} in this series`, String(store.shards.at("path", shard) ?? ""),
  ].filter(Boolean);
  const value = series.value < 0 || max <= 0 ? null : barTrack(series.value, max, interval, kind);
  const link = runLink(ctx, shard,
    h("span", { class: "rank" }, kind === "ranked" ? String(series.rank) : ""),
    h("span", { class: "who" }, h("span", { class: "model" }, series.model), series.detail && h("span", { class: "detail" }, series.detail)),
    value ?? h("span", { class: "track none" }),
    h("span", { class: "value" }, h("b", {}, formatNumber(series.value, unit)), h("span", { class: "unit" }, formatUnit(unit))));
  link.setAttribute("aria-label", about.join(".\n"));
  return h("li", { class: `bar ${kind}` }, link,
    h("div", { class: "meta" }, [h("span", {}, formatDay(store.time[shard])),
      interval && h("span", {}, `${interval.kind} ${formatNumber(interval.low, unit)} – ${formatNumber(interval.high, unit)}`),
      state !== null && (state.final ? h("span", { class: "chip good" }, series.rank === 1 ? `leads as of ${formatCount(series.rows.length)} runs` : `as of ${formatCount(series.rows.length)} runs`)
        : h("span", { class: "chip", title: `isolated ${state.isolated}/4, under load ${state.under_load}/4` }, `provisional ${state.n}/4`)),
      store.dims.era.at(shard) === "historical" && h("span", { class: "chip" }, "historical"),
      ...rankProblems(store, row).map((p) => h("span", { class: "chip warn" }, p)),
      ...flags.map((f) => h("span", { class: "chip bad" }, f)),
      caveat && h("span", { class: "caveat" }, caveat)].filter(Boolean).flatMap((part) => [part, " "])));
}
