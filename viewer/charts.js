// Pictures: bars as elements, curves with uPlot, legs of a sealed score as SVG. Colours come from the style sheet.
//
// Never here: a bar or a point for something without a value; two units or two bases on one axis.
import { h, svg } from "./dom.js";
import uPlot from "./uplot.js";

export const kCurvesMax = 6;
const kDashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [1, 4]];

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const curveColor = (i) => style(`--curve-${(i % kCurvesMax) + 1}`);

/** A short line in a curve's colour and dashes, for legends. */
export function swatch(i) {
  return svg("svg", { class: "swatch", width: 28, height: 12, viewBox: "0 0 28 12", "aria-hidden": "true" },
    svg("line", { x1: 1, y1: 6, x2: 27, y2: 6, class: `curve-${(i % kCurvesMax) + 1}`, "stroke-width": 2.5, "stroke-dasharray": kDashes[i % kCurvesMax].join(" ") || null }),
    svg("circle", { cx: 14, cy: 6, r: 3.2, class: `curve-${(i % kCurvesMax) + 1} dot` }));
}

/** One bar from zero to value on a scale that ends at `max`, with an interval as a whisker. Width only; text stands beside it. */
export function barTrack(value, max, interval, kind) {
  const percent = (v) => `${Math.max(0, Math.min(100, (v / max) * 100))}%`;
  return h("span", { class: `track ${kind}`, "aria-hidden": "true" },
    h("span", { class: "fill", style: { width: percent(value) } }),
    interval && h("span", { class: "whisker", style: { left: percent(interval.low), width: `${Math.max(0, Math.min(100, ((Math.min(interval.high, max) - Math.max(0, interval.low)) / max) * 100))}%` } }));
}

const kMinute = 60;

/**
 * Curves. x is seconds since 1970 (`time`) or a plain number on a log₂ axis.
 *
 * curves   [{label, points: [[x, y, row]], color index}], points in order of x
 * marks    [{x, label}] vertical lines
 * show     (row, curve) -> [lines of text] of the tooltip;  open(row) on click
 */
export function curveChart(box, { time, curves, marks = [], yText, xText, show, open, dispose, height = 300, label }) {
  const xs = [...new Set(curves.flatMap((c) => c.points.map((p) => p[0])))].sort((a, b) => a - b);
  const at = new Map(xs.map((x, i) => [x, i]));
  const rows = curves.map((c) => {
    const out = new Array(xs.length).fill(null);
    for (const [x, , row] of c.points) out[at.get(x)] = row;
    return out;
  });
  const data = [xs, ...curves.map((c) => {
    const out = new Array(xs.length).fill(null);
    for (const [x, y] of c.points) out[at.get(x)] = y;
    return out;
  })];
  const tip = h("div", { class: "tip", hidden: true });
  const holder = h("div", { class: "chart", role: "img", "aria-label": label, style: { height: `${height}px` } }, tip);
  box.append(holder);
  let over = null;
  const axis = { stroke: style("--ink-2"), grid: { stroke: style("--line"), width: 1 }, ticks: { stroke: style("--line"), width: 1 }, font: `12px ${style("--font")}` };
  const lowest = Math.min(...xs), highest = Math.max(...xs);
  const options = {
    width: Math.max(240, holder.clientWidth || 600), height, tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    legend: { show: false },
    cursor: { points: { size: 10 }, drag: { x: false, y: false }, focus: { prox: 24 } },
    focus: { alpha: 0.35 },
    scales: {
      x: time ? { time: true, range: () => (lowest === highest ? [lowest - 1440 * kMinute, highest + 1440 * kMinute] : [lowest - (highest - lowest) * 0.03, highest + (highest - lowest) * 0.03]) }
              : { time: false, distr: 3, log: 2, range: () => [lowest * 0.85, highest * 1.18] },
      y: { range: (_, low, high) => {
        const pad = (high - low || Math.abs(high) || 1) * 0.12;
        return [low >= 0 ? Math.max(0, low - pad) : low - pad, high + pad];
      } },
    },
    axes: [
      time ? { ...axis, space: 70, values: (_, list) => timeTicks(list, highest - lowest) } : { ...axis, filter: (_, list) => list, splits: () => xs.filter((x, i) => i === 0 || Math.log2(x) - Math.log2(xs[i - 1]) > 0.28), values: (_, list) => list.map(xText) },
      { ...axis, size: (_, values) => 22 + 7.4 * Math.max(3, ...(values ?? []).map((v) => String(v).length)), values: (_, list) => list.map(yText) },
    ],
    series: [{}, ...curves.map((c) => {
      const color = curveColor(c.color);
      return { label: "", stroke: color, width: 2, dash: kDashes[c.color % kCurvesMax], spanGaps: true, points: { show: true, size: 8, fill: style("--surface"), stroke: color, width: 2 } };
    })],
    hooks: {
      draw: [(u) => drawMarks(u, marks)],
      setCursor: [(u) => {
        over = nearest(u, data, rows);
        if (!over) {
          tip.hidden = true;
          return;
        }
        const lines = show(over.row, curves[over.curve]);
        tip.replaceChildren(...lines.map((line, i) => h("div", { class: i === 0 ? "tip-title" : "" }, line)));
        tip.hidden = false;
        const x = over.x + u.over.offsetLeft, y = over.y + u.over.offsetTop;
        tip.style.left = `${Math.max(4, Math.min(x + 14, holder.clientWidth - tip.offsetWidth - 4))}px`;
        tip.style.top = `${Math.max(4, y - tip.offsetHeight - 12)}px`;
      }],
    },
  };
  const plot = new uPlot(options, data, holder);
  plot.over.addEventListener("click", () => { if (over) open(over.row); });
  plot.over.addEventListener("mouseleave", () => { tip.hidden = true; });
  const observer = new ResizeObserver(() => {
    const width = Math.max(240, holder.clientWidth);
    if (width !== plot.width) plot.setSize({ width, height });
  });
  observer.observe(holder);
  dispose(() => {
    observer.disconnect();
    plot.destroy();
  });
  return plot;
}

const kMonths = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
// Ticks of a time axis in UTC: days, or hours where all lies within two days; the year where it changes.
function timeTicks(splits, span) {
  let year = null;
  return splits.map((seconds) => {
    const date = new Date(seconds * 1000);
    const day = `${date.getUTCDate()} ${kMonths[date.getUTCMonth()]}`;
    const text = span < 172800 ? `${date.toISOString().slice(11, 16)}\n${day}` : date.getUTCFullYear() === year ? day : `${day}\n${date.getUTCFullYear()}`;
    year = date.getUTCFullYear();
    return text;
  });
}

// The point nearest to the pointer within 28 pixels.
function nearest(u, data, rows) {
  const { left, top } = u.cursor;
  if (left < 0) return null;
  let best = null;
  for (let s = 1; s < data.length; ++s) {
    for (let i = 0; i < data[0].length; ++i) {
      if (data[s][i] === null) continue;
      const x = u.valToPos(data[0][i], "x"), y = u.valToPos(data[s][i], "y");
      const distance = Math.hypot(x - left, y - top);
      if (distance < 28 && (!best || distance < best.distance)) best = { distance, x, y, curve: s - 1, row: rows[s - 1][i] };
    }
  }
  return best;
}

function drawMarks(u, marks) {
  if (marks.length === 0) return;
  const { ctx } = u;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.strokeStyle = style("--ink-3");
  ctx.fillStyle = style("--ink-2");
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.font = `${11 * ratio}px ${style("--font")}`;
  let lastLabel = -Infinity;
  for (const mark of marks) {
    const x = Math.round(u.valToPos(mark.x, "x", true)) + 0.5;
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, u.bbox.top);
    ctx.lineTo(x, u.bbox.top + u.bbox.height);
    ctx.stroke();
    const text = mark.label.length > 18 ? `${mark.label.slice(0, 17)}…` : mark.label;
    if (x - lastLabel > 80 * ratio && x + ctx.measureText(text).width < u.bbox.left + u.bbox.width) {
      ctx.fillText(text, x + 4 * ratio, u.bbox.top + 11 * ratio);
      lastLabel = x;
    }
  }
  ctx.restore();
}

/**
 * Legs of a paired run: for each pair two points joined by a line, control and candidate; the mean as a tick.
 *
 * pairs  [{pair, control: {value, text}, candidate: {value, text}}]
 */
export function legsChart({ pairs, unit, label, text }) {
  const values = pairs.flatMap((p) => [p.control?.value, p.candidate?.value]).filter((v) => Number.isFinite(v));
  if (values.length === 0) return null;
  const low = Math.min(...values), high = Math.max(...values);
  const pad = (high - low || high * 0.05 || 1) * 0.12;
  const width = 430, left = 52, right = 14, line = 28, top = 8;
  const height = top + pairs.length * line + 34;
  const x = (v) => left + ((v - (low - pad)) / (high - low + 2 * pad)) * (width - left - right);
  const bottom = top + pairs.length * line;
  const ticks = [low, (low + high) / 2, high];
  return h("figure", { class: "legs" }, h("figcaption", {}, label),
    svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${label}: control and candidate of ${pairs.length} pairs` },
      ticks.map((t) => [svg("line", { x1: x(t), x2: x(t), y1: top, y2: bottom, class: "gridline" }),
        svg("text", { x: x(t), y: bottom + 16, class: "tick", "text-anchor": t === high ? "end" : t === low ? "start" : "middle" }, text(t))]),
      svg("text", { x: width - right, y: bottom + 32, class: "tick", "text-anchor": "end" }, unit),
      pairs.map((p, i) => {
        const y = top + i * line + line / 2;
        const both = Number.isFinite(p.control?.value) && Number.isFinite(p.candidate?.value);
        return svg("g", {}, svg("text", { x: 4, y: y + 4, class: "tick" }, `pair ${p.pair}`),
          both && svg("line", { x1: x(p.control.value), x2: x(p.candidate.value), y1: y, y2: y, class: "join" }),
          Number.isFinite(p.control?.value) && svg("rect", { x: x(p.control.value) - 5, y: y - 5, width: 10, height: 10, class: "leg-control" }, svg("title", {}, `control ${p.control.text}`)),
          Number.isFinite(p.candidate?.value) && svg("circle", { cx: x(p.candidate.value), cy: y, r: 5.5, class: "leg-candidate" }, svg("title", {}, `candidate ${p.candidate.text}`)));
      })));
}

/** A value with its interval on a line, and a rule at 1 (no change). */
export function intervalChart({ value, low, high, floor, text }) {
  const all = [value, low, high, floor, 1].filter((v) => Number.isFinite(v));
  const from = Math.min(...all), to = Math.max(...all);
  const pad = (to - from || 0.1) * 0.08;
  const width = 320, height = 46;
  const x = (v) => 8 + ((v - from + pad) / (to - from + 2 * pad)) * (width - 16);
  return svg("svg", { class: "interval", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${text(value)}${Number.isFinite(low) ? `, between ${text(low)} and ${text(high)}` : ""}` },
    svg("line", { x1: x(1), x2: x(1), y1: 4, y2: 32, class: "one" }), svg("text", { x: x(1), y: 44, class: "tick", "text-anchor": "middle" }, "1 = no change"),
    Number.isFinite(floor) && svg("line", { x1: x(floor), x2: x(floor), y1: 8, y2: 28, class: "floor" }, svg("title", {}, `floor ${text(floor)}`)),
    Number.isFinite(low) && Number.isFinite(high) && svg("line", { x1: x(low), x2: x(high), y1: 18, y2: 18, class: "range" }),
    Number.isFinite(value) && svg("circle", { cx: x(value), cy: 18, r: 6, class: "leg-candidate" }));
}
