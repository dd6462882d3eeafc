// Curves with uPlot: what the tabs ask for is drawn once the page has a place for it, and a chart that is in the page
// already takes the next picture of the same kind.
//
// Never here: a point for something without a value; two units or two bases on one axis.
import { kCurvesMax, kDashes } from "./charts.js";
import { h } from "./dom.js";
import { asItIs } from "./morph.js";
import uPlot from "./uplot.js";

const kDay = 86400;

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/**
 * The page's charts: {want, draw}.
 *
 * want(box, key, picture)  a place in `box`, and what to draw there; `key` tells the charts of a tab apart
 * draw()                   after the places are in the page; charts that nobody wanted since the last time are gone
 *
 * A picture: x is seconds since 1970 (`time`) or a plain number on a log₂ axis.
 *   curves   [{label, points: [[x, y, row]], color index}], points in order of x
 *   marks    [{x, label}] vertical lines
 *   show     (row, curve) -> [lines of text] of the tooltip;  open(row) on click
 *   yText, xText  ticks in words;  height in pixels;  label for who cannot see it
 */
export function createCharts() {
  let drawn = new Map();
  let wanted = [];

  function want(box, key, picture) {
    const shape = [picture.time, picture.height, picture.curves.map((c) => c.color), style("--ink")].join("|");
    const held = drawn.get(key)?.shape === shape ? drawn.get(key) : null;
    const place = h("div", { class: "chart", role: "img", style: { height: `${picture.height}px` } });
    box.append(asItIs(place, held?.holder));
    wanted.push({ key, shape, held, place, picture });
  }

  function draw() {
    for (const { held, place } of wanted) if (held && place.isConnected) place.replaceWith(held.holder);
    const widths = wanted.map(({ held, place }) => (held ? 0 : place.clientWidth));  // all are measured before one is drawn
    const next = new Map(wanted.map(({ key, shape, held, place, picture }, i) => {
      const chart = held ?? createChart(place, shape, Math.max(240, widths[i] || 600), picture);
      if (held) held.show(picture);
      chart.holder.setAttribute("aria-label", picture.label);
      return [key, chart];
    }));
    for (const [key, chart] of drawn) if (next.get(key) !== chart) chart.destroy();
    drawn = next;
    wanted = [];
  }
  return { want, draw };
}

// Curves on one axis: every x that one of them has, and for each curve its values and rows there.
function aligned(picture) {
  const xs = [...new Set(picture.curves.flatMap((c) => c.points.map((p) => p[0])))].sort((a, b) => a - b);
  const at = new Map(xs.map((x, i) => [x, i]));
  const column = (curve, which) => {
    const out = new Array(xs.length).fill(null);
    for (const point of curve.points) out[at.get(point[0])] = point[which];
    return out;
  };
  return { ...picture, xs, lowest: xs[0], highest: xs[xs.length - 1], data: [xs, ...picture.curves.map((c) => column(c, 1))], rows: picture.curves.map((c) => column(c, 2)) };
}

function createChart(holder, shape, width, first) {
  let picture = aligned(first);  // what the chart shows now; everything below asks it when it draws
  const { height } = first;
  const tip = h("div", { class: "tip", hidden: true });
  holder.append(tip);
  let over = null;
  const axis = { stroke: style("--ink-2"), grid: { stroke: style("--line"), width: 1 }, ticks: { stroke: style("--line"), width: 1 }, font: `12px ${style("--font")}` };
  const surface = style("--surface");
  const timeRange = () => {
    const { lowest, highest } = picture;
    const pad = lowest === highest ? kDay : (highest - lowest) * 0.03;
    return [lowest - pad, highest + pad];
  };
  const spaced = () => picture.xs.filter((x, i, all) => i === 0 || Math.log2(x) - Math.log2(all[i - 1]) > 0.28);
  const options = {
    width, height, tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    legend: { show: false },
    cursor: { points: { size: 10 }, drag: { x: false, y: false }, focus: { prox: 24 } },
    focus: { alpha: 0.35 },
    scales: {
      x: first.time ? { time: true, range: timeRange } : { time: false, distr: 3, log: 2, range: () => [picture.lowest * 0.85, picture.highest * 1.18] },
      y: { range: (_, low, high) => {
        const pad = (high - low || Math.abs(high) || 1) * 0.12;
        return [low >= 0 ? Math.max(0, low - pad) : low - pad, high + pad];
      } },
    },
    axes: [
      first.time ? { ...axis, space: 70, values: (_, list) => timeTicks(list, picture.highest - picture.lowest) }
                 : { ...axis, filter: (_, list) => list, splits: spaced, values: (_, list) => list.map(picture.xText) },
      { ...axis, size: (_, values) => 22 + 7.4 * Math.max(3, ...(values ?? []).map((v) => String(v).length)), values: (_, list) => list.map(picture.yText) },
    ],
    series: [{}, ...first.curves.map((c) => {
      const color = style(`--curve-${(c.color % kCurvesMax) + 1}`);
      return { label: "", stroke: color, width: 2, dash: kDashes[c.color % kCurvesMax], spanGaps: true, points: { show: true, size: 8, fill: surface, stroke: color, width: 2 } };
    })],
    hooks: {
      draw: [(u) => drawMarks(u, picture.marks ?? [])],
      setCursor: [(u) => {
        over = nearest(u, picture);
        tip.hidden = !over;
        if (!over) return;
        const lines = picture.show(over.row, picture.curves[over.curve]);
        tip.replaceChildren(...lines.map((line, i) => h("div", { class: i === 0 ? "tip-title" : "" }, line)));
        const x = over.x + u.over.offsetLeft, y = over.y + u.over.offsetTop;
        tip.style.left = `${Math.max(4, Math.min(x + 14, holder.clientWidth - tip.offsetWidth - 4))}px`;
        tip.style.top = `${Math.max(4, y - tip.offsetHeight - 12)}px`;
      }],
    },
  };
  const plot = new uPlot(options, picture.data, holder);
  plot.over.addEventListener("click", () => { if (over) picture.open(over.row); });
  plot.over.addEventListener("mouseleave", () => { tip.hidden = true; });
  const observer = new ResizeObserver(() => {
    const now = Math.max(240, holder.clientWidth);
    if (now !== plot.width) plot.setSize({ width: now, height });
  });
  observer.observe(holder);
  return {
    shape, holder,
    show(next) {
      picture = aligned(next);
      over = null;
      tip.hidden = true;
      plot.setData(picture.data);
    },
    destroy() {
      observer.disconnect();
      plot.destroy();
    },
  };
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
function nearest(u, { data, rows }) {
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
