// Trend: each series over time. At most six at once; where a campaign begins there is a line.
import { kCurvesMax, swatch } from "./charts.js";
import { h, lazyDetails, note } from "./dom.js";
import { formatCount, formatTick, formatTime, formatValue, unitName } from "./format.js";
import { comboOf, flagsOf, nameSeries, regimeGroups, regimeText, seriesOf, shardName } from "./model.js";
import { downloads, nothingHere, regimeTitle, runLink, statusList } from "./parts.js";

const kListMax = 60;

export function trendTab(ctx, main) {
  const { store, rows, combo, state } = ctx;
  if (!combo || rows.length === 0) {
    main.append(nothingHere(ctx), statusList(ctx));
    return;
  }
  const dated = rows.filter((row) => Number.isFinite(store.time[store.rowShard[row]]));
  // The address may name any series; unasked, only what is listed needs a name.
  const groups = histories(store, dated, state.series.length > 0 ? Infinity : kListMax);
  const all = groups.flatMap((group) => group.series);
  const wanted = all.filter((s) => state.series.includes(s.id));
  // Unasked, only series of one regime share the axis.
  const chosen = (wanted.length > 0 ? wanted : groups[0]?.series ?? []).slice(0, kCurvesMax);
  const regimes = new Set(chosen.map((s) => s.group)).size;
  main.append(h("div", { class: "toolbar" }, h("p", { class: "hint" }, `${unitName(combo.unit)} over time. Each point is a run; a dashed line is the start of a campaign.`),
    downloads(ctx, "trend", () => chosen.flatMap((s) => s.rows))));

  const box = h("div", { class: "card chart-card" });
  main.append(box);
  const marks = new Map();
  for (const row of chosen.flatMap((s) => s.rows)) {
    const shard = store.rowShard[row];
    const id = store.dims.campaign.at(shard);
    if (id !== null && !(marks.get(id) <= store.time[shard])) marks.set(id, store.time[shard]);
  }
  ctx.chart(box, "trend", {
    time: true, height: 340, label: `${chosen.length} series over time, values in the table below`,
    curves: chosen.map((s, i) => ({ label: s.label, color: i, points: pointsOf(store, s) })),
    marks: marks.size <= 40 ? [...marks].map(([label, time]) => ({ label, x: time / 1000 })).sort((a, b) => a.x - b.x) : [],
    yText: (v) => formatTick(v, combo.unit),
    show: (row, curve) => [curve.label, formatValue(store.value[row], combo.unit), `${formatTime(store.time[store.rowShard[row]])} UTC`, regimeText(store, row), ...flagsOf(store, row)],
    open: (row) => ctx.set({ tab: "run", run: shardName(store, store.rowShard[row]) }),
  });

  if (regimes > 1) box.append(note("warning", "These curves ran under different conditions: their heights do not compare."));

  const full = chosen.length >= kCurvesMax;
  const line = (s) => {
    const at = chosen.indexOf(s);
    return h("li", {}, h("label", { class: at < 0 ? "option" : "option on" },
      h("input", { type: "checkbox", checked: at >= 0, disabled: at < 0 && full, "data-key": `series-${s.id}`, onchange: (event) => {
        const ids = chosen.map((c) => c.id);
        ctx.set({ series: event.target.checked ? [...ids, s.id] : ids.filter((id) => id !== s.id) });
      } }), at >= 0 ? swatch(at) : h("span", { class: "swatch" }), h("span", { class: "text" }, s.label),
      h("span", { class: "count" }, `${formatCount(s.rows.length)} run${s.rows.length === 1 ? "" : "s"} · latest ${formatValue(store.value[s.latest], combo.unit)}`)));
  };
  let left = kListMax;
  main.append(h("section", { class: "card" }, h("h2", {}, "Series"), h("p", { class: "hint" }, `At most ${kCurvesMax} at once; ${formatCount(all.length)} match.`),
    h("div", { class: "legend" }, groups.map((group) => {
      const shown = group.series.slice(0, Math.max(0, left));
      left -= shown.length;
      return shown.length > 0 && [h("h3", {}, group.title), h("ul", {}, shown.map(line))];
    })), all.length > kListMax && h("p", { class: "more" }, `${formatCount(all.length - kListMax)} more: filter to reach them`)));
  main.append(lazyDetails({ class: "card" }, "The points as a table", () =>
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Points" }, h("table", {}, h("thead", {}, h("tr", {}, ["Series", "Time (UTC)", "Value", "Campaign"].map((t) => h("th", { scope: "col" }, t)))),
      h("tbody", {}, chosen.flatMap((s) => s.rows.slice(-100).map((row) => h("tr", {}, h("td", {}, s.label), h("td", {}, runLink(ctx, store.rowShard[row], formatTime(store.time[store.rowShard[row]]))),
        h("td", { class: "num" }, formatValue(store.value[row], comboOf(store, row).unit)), h("td", {}, store.dims.campaign.at(store.rowShard[row]) ?? "")))))))));
  main.append(statusList(ctx));
}

// Groups of equal conditions, those with the longest histories first: they have a trend to show. The first `max` series
// get a name and an id for the address.
function histories(store, rows, max) {
  const time = (series) => store.time[store.rowShard[series.latest]];
  const groups = regimeGroups(store, seriesOf(store, rows));
  for (const group of groups) {
    group.title = regimeTitle(group);
    group.series.sort((a, b) => b.rows.length - a.rows.length || time(b) - time(a));
    group.runs = group.series[0].rows.length;
  }
  groups.sort((a, b) => b.runs - a.runs || b.series.length - a.series.length);
  let left = max;
  for (const group of groups) {
    if (left <= 0) break;
    nameSeries(store, group.series, { max: left });
    for (const series of group.series.slice(0, left)) {
      series.group = group;
      series.id = group.title ? `${series.label} (${group.title})` : series.label;
    }
    left -= group.series.length;
  }
  return groups;
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
