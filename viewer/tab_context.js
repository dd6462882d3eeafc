// Context: how speed changes with the length of the prompt. One panel a kind, unit and basis; a run without a figure is
// a tile at the length that was asked for, never a point at zero.
import { kCurvesMax, swatch } from "./charts.js";
import { h, statusChip } from "./dom.js";
import { basisName, clip, formatCount, formatTick, formatTime, formatValue, unitName } from "./format.js";
import { contextPanels, namedCurves, pointsOf, promptTokens, targetTokens, windowName } from "./layouts.js";
import { flagsOf, reasonOf, regimeText, shardName, statusOf, statusRuns } from "./model.js";
import { downloads, nothingHere, runLink } from "./parts.js";

const kListMax = 60;
const kTilesMax = 9;
const kNames = { cumulative: "Cumulative throughput", decode: "Decode rate", prefill: "Prefill rate", ttft: "Time to first token" };

const short = (tokens) => (tokens >= 10000 ? `${Math.round(tokens / 1000)}k` : tokens >= 1000 ? `${(tokens / 1000).toFixed(1).replace(/\.0$/, "")}k` : String(tokens));

export function contextTab(ctx, main) {
  const { store, filtered, state } = ctx;
  const panels = contextPanels(store, filtered.pass);
  const runs = statusRuns(store, filtered.pass).filter((shard) => targetTokens(store, shard) !== null);
  if (panels.length === 0 && runs.length === 0) {
    main.append(nothingHere(ctx));
    return;
  }
  // One colour a series in every panel.
  const { list, count } = namedCurves(store, panels, state.series.length > 0 ? Infinity : kListMax);
  const wanted = list.filter((c) => state.series.includes(c.label));
  const chosen = (wanted.length > 0 ? wanted : list).slice(0, kCurvesMax);
  const place = new Map(chosen.map((c, at) => [c.id, at]));
  const rowIds = () => panels.flatMap((p) => p.curves.filter((c) => place.has(c.id)).flatMap((c) => c.rows));
  main.append(h("div", { class: "toolbar" }, h("p", { class: "hint" }, "Latest run at each prompt length; the length is what the server counted. A window of another size is another curve."),
    downloads(ctx, "context", rowIds)));
  const grid = h("div", { class: "panels" });
  main.append(grid);
  for (const panel of panels) {
    const card = h("section", { class: "card" }, h("h2", {}, kNames[panel.kind]), h("p", { class: "hint" }, `${unitName(panel.unit)}${panel.basis ? ` · ${basisName(panel.basis)}` : panel.unit === "tok/s" ? " · basis unstated" : ""}`));
    grid.append(card);
    const curves = panel.curves.filter((c) => place.has(c.id)).map((c) => ({ points: pointsOf(store, c), label: chosen[place.get(c.id)].label, color: place.get(c.id) })).sort((a, b) => a.color - b.color);
    if (curves.length === 0) {
      card.append(h("p", { class: "hint" }, "None of the chosen series has this figure."));
      continue;
    }
    ctx.chart(card, panel.key, {
      time: false, height: 240, curves, label: `${kNames[panel.kind]} over prompt tokens, ${curves.length} series`,
      yText: (v) => formatTick(v, panel.unit), xText: short,
      show: (row, curve) => [curve.label, formatValue(store.value[row], panel.unit), `${formatCount(promptTokens(store, store.rowShard[row]))} prompt tokens`,
        regimeText(store, row), `${formatTime(store.time[store.rowShard[row]])} UTC`, ...flagsOf(store, row)],
      open: (row) => ctx.set({ tab: "run", run: shardName(store, store.rowShard[row]) }),
    });
  }
  main.append(h("section", { class: "card" }, h("h2", {}, "Series"), h("p", { class: "hint" }, `At most ${kCurvesMax} at once; ${formatCount(count)} match.`),
    h("ul", { class: "legend" }, list.slice(0, kListMax).map(({ id, label }) => {
      const at = place.get(id) ?? -1;
      return h("li", {}, h("label", { class: at < 0 ? "option" : "option on" }, h("input", { type: "checkbox", checked: at >= 0, disabled: at < 0 && chosen.length >= kCurvesMax,
        "data-key": `series-${label}`, onchange: (event) => ctx.set({ series: event.target.checked ? [...chosen.map((c) => c.label), label] : chosen.map((c) => c.label).filter((l) => l !== label) }) }),
        at >= 0 ? swatch(at) : h("span", { class: "swatch" }), h("span", { class: "text" }, label)));
    }))));
  if (runs.length > 0) main.append(tiles(ctx, runs));
}

function tiles(ctx, runs) {
  const { store } = ctx;
  const byTarget = new Map();
  for (const shard of runs) {
    const target = targetTokens(store, shard);
    if (!byTarget.has(target)) byTarget.set(target, []);
    byTarget.get(target).push(shard);
  }
  return h("section", { class: "card", "aria-label": "Lengths without a figure" }, h("h2", {}, "Lengths without a figure"),
    [...byTarget].sort((a, b) => a[0] - b[0]).map(([target, shards]) => h("div", { class: "tile-row" }, h("h3", {}, `${formatCount(target)} tokens`),
      h("ul", { class: "tiles" }, shards.slice(0, kTilesMax).map((shard) => h("li", { class: "tile" },
        runLink(ctx, shard, statusChip(statusOf(store, shard)), h("span", { class: "model" }, store.shards.at("campaign_profile", shard) ?? store.dims.model.at(shard) ?? ""),
          h("span", { class: "detail" }, windowName(store.shards.at("context_configured_window_tokens", shard)))),
        reasonOf(store, shard) && h("p", { class: "reason" }, clip(reasonOf(store, shard), 240))))),
      shards.length > kTilesMax && h("p", { class: "more" }, `and ${formatCount(shards.length - kTilesMax)} more: filter to see them`))));
}
