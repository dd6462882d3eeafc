// The page's whole state lives in the address after '#', so that a link shows what its sender saw. Pure.
import { kDimensions, kEvidence } from "./model.js";

export const kTabs = ["compare", "trend", "table", "context", "campaign", "pair", "run"];
const kTexts = ["suite", "name", "metric", "unit", "basis", "from", "to", "campaign", "run", "cand", "ctrl", "sort"];

export function emptyState() {
  return { tab: "compare", ev: null, filters: {}, series: [], page: 1 };
}

export function parseState(hash) {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const state = emptyState();
  if (kTabs.includes(params.get("tab"))) state.tab = params.get("tab");
  if (kEvidence.includes(params.get("ev"))) state.ev = params.get("ev");
  for (const key of kTexts) if (params.has(key)) state[key] = params.get(key);
  for (const key of ["from", "to"]) if (state[key] !== undefined && !/^\d{4}-\d\d-\d\d$/.test(state[key])) delete state[key];
  for (const [name] of kDimensions) {
    const chosen = params.getAll(`f.${name}`);
    if (chosen.length > 0) state.filters[name] = chosen;
  }
  state.series = params.getAll("series");
  const page = Number(params.get("page"));
  if (Number.isInteger(page) && page > 0) state.page = page;
  return state;
}

export function writeState(state) {
  const params = new URLSearchParams();
  params.set("tab", state.tab);
  if (state.ev) params.set("ev", state.ev);
  for (const key of kTexts) if (state[key] !== undefined && state[key] !== null) params.set(key, state[key]);
  for (const [name] of kDimensions) for (const label of state.filters[name] ?? []) params.append(`f.${name}`, label);
  for (const key of state.series ?? []) params.append("series", key);
  if (state.page > 1) params.set("page", state.page);
  return `#${params.toString()}`;
}
