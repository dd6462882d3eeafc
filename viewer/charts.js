// Pictures: bars as elements, legs of a sealed score as SVG (curves: curves.js). Colours come from the style sheet.
//
// Never here: a bar for something without a value; two units or two bases on one axis.
import { h, svg } from "./dom.js";

export const kCurvesMax = 6;
export const kDashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [1, 4]];

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
