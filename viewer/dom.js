// Making elements. Text always becomes a text node; there is no way from here to markup.

/** h("p", {class: "note", onclick: f}, "text", child, [more]): null and false children are left out. */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}
export function svg(tag, props, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element[name] = value;
    else if (name === "style") for (const [key, v] of Object.entries(value)) element.style.setProperty(key, v);
    else if (name === "checked" || name === "value" || name === "selected" || name === "open") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}
function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child !== null && child !== undefined && child !== false) {
      element.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
  }
}

/** Makes `wanted` the children of `parent`. Those that are there already stay as they are: focus, scrolling and all. */
export function setChildren(parent, wanted) {
  const list = wanted.filter(Boolean);
  const staying = new Set(list);
  for (const child of [...parent.childNodes]) if (!staying.has(child)) child.remove();
  let at = parent.firstChild;
  for (const child of list) {
    if (child === at) at = at.nextSibling;
    else parent.insertBefore(child, at);
  }
}

/** f(name, facts, build): the element built for equal facts before, or a new one. */
export function keeper() {
  const held = new Map();
  return (name, facts, build) => {
    const last = held.get(name);
    if (last && last.facts.every((fact, i) => fact === facts[i])) return last.element;
    const element = build();
    held.set(name, { facts, element });
    return element;
  };
}

/** A closed <details> whose content is made when somebody opens it. */
export function lazyDetails(props, summary, build) {
  return h("details", { ...props, ontoggle: ({ currentTarget: it }) => { if (it.open && it.childElementCount === 1) it.append(build()); } }, h("summary", {}, summary));
}

/** Hands text to the browser as a file. */
export function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export const statusNames = {
  success: "success", failed: "failed", capacity_gated: "capacity gated", unsupported: "unsupported", aborted: "aborted",
  not_applicable: "not applicable", skipped: "skipped",
};
const kMarks = { success: "✓", failed: "✕", capacity_gated: "▲", unsupported: "⊘", aborted: "■", not_applicable: "–", skipped: "»" };

/** A status as word, mark and colour: readable without seeing colours. */
export function statusChip(status) {
  const known = Object.hasOwn(statusNames, status);
  return h("span", { class: `chip status ${known ? `s-${status}` : "s-unknown"}` },
           h("span", { class: "mark", "aria-hidden": "true" }, known ? kMarks[status] : "?"), " ", known ? statusNames[status] : status);
}

export function note(kind, ...children) {
  return h("div", { class: `note ${kind}`, role: kind === "error" ? "alert" : undefined }, ...children);
}

export function emptyNote(title, text) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), text && h("p", {}, text));
}
