// Making what is in the page say what a newly built tree says, by changing only what differs: elements, focus and
// scrolling stay, and the browser computes no style anew for what is still the same kind of thing.
//
// Handlers are properties (h sets them so) and use event.currentTarget: they may move to the element that stayed.

const kHandlers = ["onclick", "onchange", "ontoggle"];
const kActive = new Set(["BUTTON", "INPUT", "SELECT", "DETAILS"]);
const standing = new WeakMap();

/**
 * An element that somebody else draws into: it is put into the page as it is, never changed into another. Where the page
 * has `instead` at its place, that stays.
 */
export function asItIs(element, instead = element) {
  standing.set(element, instead);
  return element;
}

/** Makes `old`, which is in the page, say what `fresh` says; takes children over from `fresh`. */
export function morph(old, fresh) {
  if (standing.get(fresh) === old) return;
  if (old.nodeName !== fresh.nodeName || standing.has(fresh) || standing.has(old) || keyOf(old) !== keyOf(fresh)) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  morphAttributes(old, fresh);
  morphChildren(old, fresh);
  if (!kActive.has(old.nodeName)) return;
  for (const name of kHandlers) old[name] = fresh[name];
  if (old.nodeName === "INPUT") old.checked = fresh.checked;
  if (old.nodeName === "SELECT") old.selectedIndex = fresh.selectedIndex;
}

// Two controls of different names are two controls: the focus of one must not become the other's.
const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.getAttribute("data-key") : null);

function morphAttributes(old, fresh) {
  const { attributes } = fresh;
  for (let i = 0; i < attributes.length; ++i) {
    const { name, value } = attributes[i];
    if (old.getAttribute(name) !== value) setAttribute(old, name, value);
  }
  if (old.attributes.length === attributes.length) return;
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
}

// The page's policy allows styles that a script sets, not a style attribute.
function setAttribute(element, name, value) {
  if (name === "style") element.style.cssText = value;
  else element.setAttribute(name, value);
}

function morphChildren(old, fresh) {
  let at = old.firstChild, wanted = fresh.firstChild;
  while (wanted) {
    const next = wanted.nextSibling;
    if (at) {
      const after = at.nextSibling;
      morph(at, wanted);
      at = after;
    } else old.append(wanted);
    wanted = next;
  }
  while (at) {
    const after = at.nextSibling;
    at.remove();
    at = after;
  }
}
