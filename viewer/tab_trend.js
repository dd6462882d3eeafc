// Trend: each series over time. At most six at once; where a campaign begins there is a line.
import { curveChart, kCurvesMax, swatch } from "./charts.js";
import { h } from "./dom.js";
import { formatCount, formatNumber, formatTime, formatValue, unitName } from "./format.js";
import { comboOf, flagsOf, regimeText, seriesOf, shardName } from "./model.js";
import { downloads, nothingHere, runLink, statusList } from "./parts.js";

const kListMax = 60;

export function trendTab(ctx, main) {
  const { store, rows, combo, state } = ctx;
  if (!combo || rows.length === 0) {
    main.append(nothingHere(ctx), statusList(ctx));
    return;
  }
  const dated = rows.filter((row) => Number.isFinite(store.time[store.rowShard[row]]));
  // Longest histories first: they have a trend to show.
  const all = seriesOf(store, dated).sort((a, b) => b.rows.length - a.rows.length || store.time[store.rowShard[b.latest]] - store.time[store.rowShard[a.latest]]);
  const wanted = all.filter((s) => state.series.includes(s.label));
  const chosen = (wanted.length > 0 ? wanted : all).slice(0, kCurvesMax);
  main.append(h("div", { class: "toolbar" }, h("p", { class: "hint" }, `${unitName(combo.unit)} over time. Each point is a run; a dashed line is the start of a campaign.`),
    downloads(ctx, "trend", chosen.flatMap((s) => s.rows))));

  const box = h("div", { class: "card chart-card" });
  main.append(box);
  const marks = new Map();
  for (const row of chosen.flatMap((s) => s.rows)) {
    const shard = store.rowShard[row];
    const id = store.dims.campaign.at(shard);
    if (id !== null && !(marks.get(id) <= store.time[shard])) marks.set(id, store.time[shard]);
  }
  curveChart(box, {
    time: true, height: 340, label: `${chosen.length} series over time, values in the table below`,
    curves: chosen.map((s, i) => ({ label: s.label, color: i, points: pointsOf(store, s) })),
    marks: marks.size <= 40 ? [...marks].map(([label, time]) => ({ label, x: time / 1000 })).sort((a, b) => a.x - b.x) : [],
    yText: (v) => formatNumber(v, combo.unit),
    show: (row, curve) => [curve.label, formatValue(store.value[row], combo.unit), `${formatTime(store.time[store.rowShard[row]])} UTC`, regimeText(store, row), ...flagsOf(store, row)],
    open: (row) => ctx.set({ tab: "run", run: shardName(store, store.rowShard[row]) }),
    dispose: ctx.dispose,
  });

  const full = chosen.length >= kCurvesMax;
  main.append(h("section", { class: "card" }, h("h2", {}, "Series"), h("p", { class: "hint" }, `At most ${kCurvesMax} at once; ${formatCount(all.length)} match.`),
    h("ul", { class: "legend" }, all.slice(0, kListMax).map((s) => {
      const at = chosen.indexOf(s);
      return h("li", {}, h("label", { class: at < 0 ? "option" : "option on" },
        h("input", { type: "checkbox", checked: at >= 0, disabled: at < 0 && full, "data-key": `series-${s.label}`, onchange: (event) => {
          const labels = chosen.map((c) => c.label);
          ctx.set({ series: event.target.checked ? [...labels, s.label] : labels.filter((l) => l !== s.label) });
        } }), at >= 0 ? swatch(at) : h("span", { class: "swatch" }), h("span", { class: "text" }, s.label),
        h("span", { class: "count" }, `${formatCount(s.rows.length)} · ${formatValue(store.value[s.latest], combo.unit)}`)));
    })), all.length > kListMax && h("p", { class: "more" }, `${formatCount(all.length - kListMax)} more: filter to reach them`)));
  main.append(h("details", { class: "card" }, h("summary", {}, "The points as a table"),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Points" }, h("table", {}, h("thead", {}, h("tr", {}, ["Series", "Time (UTC)", "Value", "Campaign"].map((t) => h("th", { scope: "col" }, t)))),
      h("tbody", {}, chosen.flatMap((s) => s.rows.slice(-100).map((row) => h("tr", {}, h("td", {}, s.label), h("td", {}, runLink(ctx, store.rowShard[row], formatTime(store.time[store.rowShard[row]]))),
        h("td", { class: "num" }, formatValue(store.value[row], comboOf(store, row).unit)), h("td", {}, store.dims.campaign.at(store.rowShard[row]) ?? "")))))))));
  main.append(statusList(ctx));
}

// Two runs of one second are drawn one after the other, not averaged.
function pointsOf(store, series) {
  const points = [];
  for (const row of series.rows) {
    let x = store.time[store.rowShard[row]] / 1000;
    if (points.length > 0 && x <= points[points.length - 1][0]) x = points[points.length - 1][0] + 0.001;
    points.push([x, store.value[row], row]);
  }
  return points;
}
