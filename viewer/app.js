// Start: the index once, then one render for each state of the address.
import { isEmbedded, loadIndex } from "./data.js";
import { h } from "./dom.js";
import { buildStore } from "./model.js";
import { parseState, writeState } from "./state.js";
import { createView } from "./view.js";

const kAgeMax = 600_000;  // an index older than this is read again when the page is looked at
const root = document.getElementById("app");
const view = createView(root);
let store = null;
let state = parseState(location.hash);
let loadedAt = 0;
let loading = null;

/** Changes the state, the address and the page. `replace` leaves no step behind for the Back button. */
function set(patch, { replace = false } = {}) {
  state = { ...state, ...patch };
  history[replace ? "replaceState" : "pushState"](null, "", writeState(state));
  draw();
}

function draw() {
  const started = performance.now();
  view.render({ store, state, set, refresh: isEmbedded() ? null : () => load(true), loadedAt });
  // How long the last change took, for whoever measures it.
  root.dataset.renderMs = (performance.now() - started).toFixed(1);
}

async function load(fresh) {
  loading ??= loadIndex({ fresh }).then((index) => {
    store = buildStore(index);
    loadedAt = Date.now();
    draw();
  }).catch((error) => {
    if (store === null) showFailure(error);
    else view.announce(`The index could not be read again: ${error.message}`);
  }).finally(() => { loading = null; });
  return loading;
}

function showFailure(error) {
  root.replaceChildren(h("main", { class: "boot", role: "alert" },
    h("h1", {}, "The record cannot be shown"),
    h("p", {}, error.message),
    h("p", {}, "Is the server still running, and is this page served by it? A folder made by export needs a web server; a single exported file does not."),
    h("button", { class: "button", onclick: () => load(true) }, "Try again")));
  root.dataset.state = "error";
}

for (const event of ["popstate", "hashchange"]) {
  addEventListener(event, () => {
    const next = parseState(location.hash);
    if (writeState(next) === writeState(state)) return;
    state = next;
    if (store) draw();
  });
}
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && store && !isEmbedded() && Date.now() - loadedAt > kAgeMax) load(false);
});

if (!isEmbedded()) document.head.append(h("link", { rel: "icon", href: "icon.svg" }));
load(false);
