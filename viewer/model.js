// From the index to what may be shown together: the page's pure half. No DOM, no network, no clock; runs under node.
//
// In:     the index JSON (docs/view.md)
// Out:    Store (built once), then small arrays of row and shard numbers
export * from "./store.js";     // the index as codes, one a run
export * from "./rows.js";      // rows, their selectors and tags
export * from "./filters.js";   // evidence, filters, selectors
export * from "./regime.js";    // what makes two figures comparable
export * from "./figures.js";   // intervals, failures, runs without a figure
export * from "./series.js";    // runs of the same thing over time
