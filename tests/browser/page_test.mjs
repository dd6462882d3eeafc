// The page in Chromium against an index written by hand: what it must show, must never show, and how it is used.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { kTabs, launch, openPage, visit } from "./browser.mjs";
import { makeIndex, makeRun, probeRows, smallIndex } from "./fixture.mjs";
import { servePage } from "./server.mjs";

let browser, site;
before(async () => {
  browser = await launch();
  site = await servePage({ index: smallIndex() });
});
after(async () => {
  await browser?.close();
  await site?.close();
});

// A test's page, closed after it; `site` unless another index is given.
async function on(hash, body, { index, ...options } = {}) {
  const own = index === undefined ? null : await servePage({ index });
  const page = await openPage(browser, (own ?? site).url + hash, options);
  try {
    await body(page, own ?? site);
    if (!options.faults) assert.deepEqual(page.faults, []);
  } finally {
    await page.context().close();
    await own?.close();
  }
}
const text = (page, selector) => page.locator(selector).allInnerTexts();
const file = (id) => makeRun(id).path.replace("data/", "");

test("evidence: always there, opens on the first class with data, warns outside scored", () => on("", async (page) => {
  assert.deepEqual((await text(page, "[role=radio]")).map((t) => t.replace(/\s+/g, " ")), ["Scored 38", "Experimental 1", "Recovered 1", "Invalid 1"]);
  assert.equal(await page.locator("[role=radio][aria-checked=true]").innerText().then((t) => t.replace(/\s+/g, " ")), "Scored 38");
  assert.equal(await page.locator(".notices .note.warning", { hasText: "not for ranking" }).count(), 0);
  for (const [name, words] of [["experimental", /not for ranking/], ["recovered", /not for ranking/], ["invalid", /known to be wrong/]]) {
    await page.locator(`.e-${name}`).click();
    assert.match((await text(page, ".notices")).join(" "), words);
    assert.equal(await page.locator(".bar .rank", { hasText: /\d/ }).count(), 0, `${name} has ranks`);
  }
  for (const tab of kTabs) {
    await page.locator(`#tab-${tab}`).click();
    assert.equal(await page.locator("[role=radio]").count(), 4, tab);
  }
  assert.match(page.url(), /ev=invalid/);
}, { faults: true }));

test("evidence: without scored runs the page opens on what there is", () => on("", async (page) => {
  assert.equal(await page.locator(".e-experimental").getAttribute("aria-checked"), "true");
  assert.match((await text(page, ".notices")).join(" "), /not for ranking/);
}, { index: makeIndex([makeRun("a", { evidence: "experimental", weights: "unverified" })]) }));

test("a status is never a bar, a point or a number", () => on("#tab=compare", async (page) => {
  const values = await text(page, ".bar .value b");
  assert.ok(values.length > 8 && values.every((v) => v !== "0.0" && v !== "0"), values.join());
  const tiles = (await page.locator(".tiles-card .tile").allTextContents()).join(" ");
  for (const word of ["failed", "capacity gated", "aborted", "unsupported", "not applicable"]) assert.ok(tiles.includes(word), word);
  await visit(page, "#tab=campaign&campaign=clean-reset");
  for (const status of ["failed", "capacity_gated", "aborted", "unsupported", "not_applicable"]) {
    const cell = page.locator(`.cell.c-${status}`);
    assert.equal(await cell.count(), 1, status);
    assert.equal(await cell.locator(".figure").count(), 0, status);
    assert.match(await cell.innerText(), /guard's own words/);
  }
  assert.deepEqual(await text(page, ".matrix thead th"), ["Profile and window", "32,000 tokens", "64,000 tokens", "128,000 tokens", "192,000 tokens"]);
  await visit(page, "#tab=context");
  assert.equal(await page.locator(".panels .card").count(), 4);
  assert.match((await text(page, "[aria-label='Lengths without a figure']")).join(" "), /64,000 tokens\s+▲\s*capacity gated/);
  await visit(page, "#tab=table");
  assert.ok((await text(page, ".pivot td.num")).every((v) => v !== "0.0"));
}));

test("failures are counted beside the figures", () => on("#tab=compare", async (page) => {
  const tally = (await page.locator(".tally").innerText()).replace(/\s+/g, " ");
  assert.match(tally, /^36 runs ?, 5 without a figure:/);
  assert.match(tally, /3 failed requests inside the shown runs/);
  assert.match((await text(page, ".bar", { hasText: "gemma" })).join(" "), /3 failed requests/);
  assert.match((await text(page, ".bar")).find((t) => t.includes("thinker")), /answered 75 %/);
}));

test("compare: ranks inside a regime, unverified and unstated runs take none", () => on("#tab=compare", async (page) => {
  const first = page.locator(".group-card").first();
  assert.deepEqual((await first.locator("ol .rank").allInnerTexts()).slice(0, 2), ["1", "2"]);
  assert.match(await first.locator("ul.bars").innerText(), /weights unverified/);
  assert.equal(await first.locator("ul.bars .rank", { hasText: /\d/ }).count(), 0);
  const loose = page.locator(".group-card", { hasText: "Conditions not fully stated" });
  assert.match(await loose.innerText(), /Mistral[\s\S]*regime unstated: prompt tokens, output budget, prefix policy/);
  assert.equal(await loose.locator("ol.bars").count(), 0);
  // One unit and one basis a group, said in its head.
  for (const head of await text(page, ".group-card > header p")) assert.match(head, /tok\/s · each request's total/);
  assert.match(await first.locator(".bar").first().innerText(), /provisional 0\/4/);
}));

test("pair: a ratio only in one session under one regime, and the field that differs is named", () => on("#tab=pair", async (page) => {
  const cards = page.locator(".pair");
  assert.equal(await cards.count(), 2);
  assert.match(await cards.filter({ hasText: "10:20" }).innerText(), /1\.13×[\s\S]*\+12\.5 %, better/);
  const no = cards.filter({ hasText: "10:40" });
  assert.deepEqual(await no.locator("[data-code]").evaluateAll((list) => list.map((e) => [e.dataset.code, e.dataset.field])), [["PAIR-REGIME-DIFFERS", "prefix_policy"]]);
  assert.equal(await no.locator(".ratio").count(), 0);
  await visit(page, `#tab=pair&cand=${file("pair-candidate")}&ctrl=${file("cell-0")}`);
  const codes = await page.locator("#picked [data-code]").evaluateAll((list) => list.map((e) => `${e.dataset.code} ${e.dataset.field}`));
  assert.deepEqual(codes, ["PAIR-REGIME-DIFFERS prompt", "PAIR-REGIME-DIFFERS max_tokens", "PAIR-NOT-SAME-SESSION session"]);
  assert.equal(await page.locator("#picked .ratio").count(), 0);
  await page.locator("[data-key=sel-ctrl]").selectOption(file("pair-control"));
  assert.match(await page.locator("#picked").innerText(), /1\.13×/);
}));

test("filters narrow each other and the address holds them", () => on("#tab=compare", async (page, at) => {
  const open = (name) => page.locator(`[data-key="g-${name}"]`).click();
  await open("campaign");
  await page.waitForSelector("[data-key^='f-campaign-']");
  const before = await page.locator("[data-key^='f-campaign-']").count();
  await page.locator("[data-key='f-model-Qwen3-8B-4bit']").check();
  assert.ok(await page.locator("[data-key^='f-campaign-']").count() < before);
  assert.ok(await page.locator("[data-key^='f-model-']").count() >= 8, "a filter's own list stays whole");
  assert.ok((await text(page, ".bar .model")).every((m) => m === "Qwen3-8B-4bit"));
  assert.equal(await page.evaluate(() => document.activeElement.dataset.key), "f-model-Qwen3-8B-4bit", "the focus stays where it was");
  await page.locator("[data-key=sel-metric]").selectOption("ttft_p50_ms");
  await page.locator("#tab-table").click();
  const main = await page.locator("main").innerText();
  const other = await openPage(browser, page.url());
  assert.equal(await other.locator("main").innerText(), main);
  assert.ok(await other.locator("[data-key='f-model-Qwen3-8B-4bit']").isChecked());
  await other.locator("#tab-compare").click();
  assert.equal(await other.locator("[data-key=sel-metric]").inputValue(), "ttft_p50_ms");
  await other.context().close();
  await page.goBack();
  await page.waitForSelector("#app[data-tab=compare]");
  await page.locator("[data-key=clear]").click();
  assert.match(await page.locator(".tally").innerText(), /^36 runs/);
  assert.ok(at.requests.length > 0);
}));

test("deep links: every tab comes back as it was sent", () => on("", async (page) => {
  for (const hash of ["#tab=trend&ev=scored&suite=throughput&f.model=Qwen3-8B-4bit", "#tab=campaign&ev=scored&suite=throughput&campaign=nightly-1",
    "#tab=table&ev=scored&suite=reasoning"]) {
    await visit(page, hash);
    const fresh = await openPage(browser, page.url());
    assert.equal(await fresh.locator("main").innerText(), await page.locator("main").innerText(), hash);
    assert.equal(fresh.url(), page.url());
    await fresh.context().close();
  }
}));

// What an element says: its tree with sorted attributes, what is checked and chosen; of a chart only that it is one.
const says = (page) => page.locator("main").evaluate((main) => {
  const tell = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    const attributes = [...node.attributes].map(({ name, value }) => `${name}=${value}`).sort();
    const inside = node.matches(".chart") ? "" : [...node.childNodes].map(tell);
    return { tag: node.nodeName, attributes, checked: node.checked, chosen: node.nodeName === "SELECT" ? node.value : undefined, inside };
  };
  return JSON.stringify(tell(main), null, 1).split("\n");
});

test("what a change leaves in the page is what its link opens", () => on("", async (page) => {
  const click = (key) => page.evaluate((k) => document.querySelector(`[data-key="${k}"]`).click(), key);
  const models = ["f-model-Qwen3-8B-4bit", "f-model-org/Qwen3.8-27B"];
  const fresh = await openPage(browser, page.url());
  for (const tab of kTabs.slice(0, 6)) {
    await click(`tab-${tab}`);
    let before = null;
    // Fewer elements, more of them, others in their place, none at all, and all of them again.
    for (const key of [...models, "ev-invalid", "ev-scored"]) {
      await click(key);
      const now = await says(page);
      assert.notEqual(now.join(), before, `${tab} ${key} changes the page`);
      before = now.join();
      await fresh.goto("about:blank");
      await fresh.goto(page.url());
      await fresh.waitForSelector("#app[data-state]");
      assert.deepEqual(now, await says(fresh), `${tab} ${key}`);
      assert.equal(await page.locator("main canvas").count(), await fresh.locator("main canvas").count());
    }
  }
  await fresh.context().close();
}));

test("what a change does not concern stays: focus, scrolling, charts", () => on("#tab=trend", async (page) => {
  const legend = page.locator(".legend");
  await page.evaluate(() => document.styleSheets[0].insertRule(".legend { max-height: 60px !important; }", document.styleSheets[0].cssRules.length));
  const canvas = await page.locator("canvas").elementHandle();
  await legend.evaluate((list) => {
    list.scrollTop = 50;
    window.moved = 0;
    new MutationObserver((records) => { window.moved += records.length; }).observe(document.querySelector(".chart-card"), { childList: true });
  });
  await page.locator("[data-key=date-from]").fill("2020-01-01");  // every run is later: the same six curves
  await page.waitForFunction(() => location.hash.includes("from=2020-01-01"));
  assert.ok(await canvas.evaluate((element) => element.isConnected), "the chart takes the next picture");
  assert.equal(await page.evaluate(() => window.moved), 0, "where it is");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.key), "date-from");
  const second = page.locator(".legend input").nth(1);
  await second.focus();
  const [key, place] = await page.evaluate(() => [document.activeElement.dataset.key, document.querySelector(".legend").scrollTop]);
  await page.keyboard.press("Space");
  assert.equal(await page.locator(".legend input:checked").count(), 5);
  assert.deepEqual(await page.evaluate(() => [document.activeElement.dataset.key, document.querySelector(".legend").scrollTop]), [key, place]);
  assert.ok(place > 0, "the list is scrolled");
  assert.equal(await page.locator("canvas").count(), 1);
  assert.ok(!(await canvas.evaluate((element) => element.isConnected)), "five curves are another chart");
  // Back: what was chosen by hand is as the address says again.
  await page.goBack();
  await page.waitForFunction(() => !location.hash.includes("series="));
  assert.equal(await page.locator(".legend input:checked").count(), 6);
  const metric = page.locator("[data-key=sel-metric]");
  await metric.selectOption("ttft_p50_ms");
  await page.goBack();
  await page.waitForFunction(() => !location.hash.includes("metric="));
  assert.equal(await metric.inputValue(), "throughput_total_toks_per_s");
}));

test("a campaign's cell shows the first request apart, with the state of the model", () => on("#tab=campaign", async (page) => {
  const cell = page.locator(".cell");
  assert.equal(await cell.count(), 1);
  assert.equal(await cell.locator(".figure").innerText(), "100.0 tok/s");
  assert.equal(await cell.locator(".cold").innerText(), "first request, model cold: first token 8,120.00 ms, in all 9.50 s");
  const rows = JSON.parse((await downloaded(page, "[data-key=json]")).text);
  assert.deepEqual(rows.map((row) => [row.ttft_ms, row.initial_model_state, row.readiness]), [[512, "cold", "readiness_ttft_ms=8120; readiness_request_duration_s=9.5"]]);
  for (const tab of ["compare", "trend", "table", "context", "pair"]) {
    await visit(page, `#tab=${tab}`);
    assert.ok(!(await page.locator("main").innerText()).includes("8,120"), tab);
  }
}, { index: makeIndex([makeRun("a", { campaign_id: "c", campaign_profile: "base", rows: [...probeRows(100, { phase: "sequential" }),
  ...[["readiness_ttft_ms", 8120, "ms"], ["readiness_request_duration_s", 9.5, "s"]].map(([metric, value, unit]) =>
    ({ name: "throughput_probe", metric, value, unit, tags: { phase: "readiness", initial_model_state: "cold", scored: "false" } }))] })]) }));

test("nothing but this server is asked, and the loaded page works without it", () => on("", async (page, at) => {
  for (const tab of kTabs.slice(0, 6)) await page.locator(`#tab-${tab}`).click();
  assert.ok(page.requests.every((address) => address.startsWith(at.url)), page.requests.join("\n"));
  await page.context().setOffline(true);
  for (const tab of kTabs.slice(0, 6)) {
    await page.locator(`#tab-${tab}`).click();
    assert.ok((await page.locator("main").innerText()).length > 100, tab);
  }
}, { faults: true }));

test("hostile text is text everywhere", () => on("", async (page) => {
  for (const tab of kTabs) {
    await page.locator(`#tab-${tab}`).click();
    await page.waitForSelector(`#app[data-tab=${tab}]`);
  }
  await visit(page, `#tab=run&run=${file("hostile")}`);
  assert.match(await page.locator(".run-head").innerText(), /<img src=x onerror=/);
  await visit(page, `#tab=trend&f.model=${encodeURIComponent("<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script>")}`);
  await visit(page, "#tab=<script>&suite=<img src=x onerror=window.hacked=1>&campaign=%22%3E%3Cscript%3E&run=javascript:1".replace("tab=<script>", "tab=campaign"));
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator("img, #app script, iframe, [onerror], [onload]").count(), 0);
  assert.equal(await page.locator("a[href^='javascript:']").count(), 0);
}, { faults: true }));

test("no run index: said, and everything is experimental", () => on("", async (page) => {
  assert.match((await text(page, ".notices")).join(" "), /There is no run index/);
  assert.deepEqual((await text(page, "[role=radio] .count")), ["0", "41", "0", "0"]);
  assert.equal(await page.locator(".e-experimental").getAttribute("aria-checked"), "true");
}, { index: smallIndex({ index: { state: "missing" } }) }));

test("an unreadable run index is named with its problem", () => on("", async (page) => {
  assert.match((await text(page, ".notices")).join(" "), /cannot be read[\s\S]*INDEX-INVALID: runs\[3\]/);
}, { index: smallIndex({ index: { state: "unreadable", problem: "INDEX-INVALID: runs[3]" } }) }));

test("files that are no shards are named, the rest is shown", () => on("", async (page) => {
  await page.locator(".problems summary").click();
  const items = await text(page, ".problems li");
  assert.deepEqual(items, ["data/notes.parquet SHARD-UNREADABLE: not a Parquet file", "data/run-half.parquet SHARD-UNREADABLE: the file ends before its footer"]);
  assert.ok(await page.locator(".bar").count() > 5);
}));

test("no index, a broken index and an empty store each say what is wrong", async () => {
  let answer = null;
  const own = await servePage({ index: () => answer });
  const page = await openPage(browser, own.url);
  assert.match(await page.locator("[role=alert]").innerText(), /INDEX-ABSENT/);
  answer = { format: "something-else" };
  await page.locator("button", { hasText: "Try again" }).click();
  await page.waitForFunction(() => document.body.innerText.includes("INDEX-FORMAT"));
  answer = makeIndex([]);
  await page.locator("button", { hasText: "Try again" }).click();
  await page.waitForSelector("#app[data-state=ready]");
  assert.match(await page.locator("main").innerText(), /No runs yet/);
  for (const tab of kTabs) {
    await page.locator(`#tab-${tab}`).click();
    assert.ok((await page.locator("main").innerText()).length > 5, tab);
  }
  await page.context().close();
  await own.close();
});

test("empty selections say why and what to do", () => on("#tab=compare&from=2030-01-01", async (page) => {
  assert.match(await page.locator("main").innerText(), /No run passes these filters/);
  await visit(page, "#tab=compare&suite=throughput&f.status=failed");
  assert.match(await page.locator("main").innerText(), /No figure to draw/);
  assert.match(await page.locator("[data-key=sel-suite]").innerText(), /ttft: awaiting data/);
  await visit(page, "#tab=run&run=run-gone.parquet");
  assert.match(await page.locator("main").innerText(), /No such run/);
}, { faults: true }));

test("keyboard alone: arrows inside groups, visible focus, Enter opens a run", () => on("#tab=compare", async (page) => {
  await page.locator("#tab-compare").focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForSelector("#app[data-tab=trend]");
  assert.equal(await page.evaluate(() => document.activeElement.id), "tab-trend");
  await page.keyboard.press("End");
  await page.waitForSelector("#app[data-tab=run]");
  await page.keyboard.press("Home");
  await page.waitForSelector("#app[data-tab=compare]");
  await page.locator(".e-scored").focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-checked")), "true");
  assert.match(page.url(), /ev=experimental/);
  await page.keyboard.press("ArrowLeft");
  // One stop a group: the other radios and tabs are not in the tab order.
  assert.equal(await page.locator("[role=radio][tabindex='0']").count(), 1);
  assert.equal(await page.locator("[role=tab][tabindex='0']").count(), 1);
  let reached = false;
  for (let i = 0; i < 60 && !reached; ++i) {
    await page.keyboard.press("Tab");
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.notEqual(outline, "none", await page.evaluate(() => document.activeElement.outerHTML.slice(0, 120)));
    reached = await page.evaluate(() => document.activeElement.matches(".bar a"));
  }
  assert.ok(reached, "a bar can be reached");
  assert.match(await page.locator("#hover").innerText(), /data\/run-/);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#app[data-tab=run]");
}, { faults: true }));

test("360 pixels: nothing is wider than the screen", () => on("", async (page) => {
  for (const tab of kTabs) {
    for (const extra of [tab === "campaign" ? "&campaign=clean-reset" : "", "&ev=invalid"]) {
      await visit(page, `#tab=${tab}${extra}`);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(over <= 0, `${tab}${extra} is ${over} pixels too wide`);
    }
  }
  await visit(page, "#tab=compare");
  await page.locator("[data-key=filters]").click();
  assert.ok(await page.locator("[data-key='g-model']").isVisible());
}, { viewport: { width: 360, height: 740 }, faults: true }));

// WCAG 2 contrast of an element's text on the nearest opaque ground.
const contrast = (page, selector) => page.locator(selector).first().evaluate((element) => {
  const parse = (c) => c.match(/[\d.]+/g).map(Number);
  let ground = element;
  while (ground && parse(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
  const light = (rgb) => rgb.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const [a, b] = [light(parse(getComputedStyle(element).color)), light(parse(getComputedStyle(ground ?? document.body).backgroundColor))].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
});

test("light and dark follow the system, the button has the last word, text stands out in both", async () => {
  const grounds = [];
  for (const colorScheme of ["light", "dark"]) {
    await on("#tab=compare", async (page) => {
      const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      grounds.push(await ground());
      for (const selector of ["h2", ".bar .detail", ".bar .meta span", ".chip.warn", ".chip.bad", ".s-failed", ".s-capacity_gated", ".s-aborted", ".s-unsupported", ".tab", ".count", ".hint", ".rank"]) {
        const ratio = await contrast(page, selector);
        assert.ok(ratio >= 4.5, `${colorScheme} ${selector}: ${ratio.toFixed(2)}`);
      }
      await page.locator("[data-key=theme]").click();
      assert.notEqual(await ground(), grounds.at(-1));
      await page.reload();
      await page.waitForSelector("#app[data-state=ready]");
      assert.notEqual(await ground(), grounds.at(-1), "the choice is kept");
    }, { colorScheme });
  }
  assert.notEqual(grounds[0], grounds[1]);
});

test("statuses and curves are told apart without colour", () => on("#tab=campaign&campaign=clean-reset", async (page) => {
  const marks = await text(page, ".status-legend .mark");
  assert.equal(new Set(marks).size, marks.length);
  await visit(page, "#tab=trend");
  const dashes = await page.locator(".legend .swatch line").evaluateAll((list) => list.map((e) => e.getAttribute("stroke-dasharray")));
  assert.ok(dashes.length >= 3 && new Set(dashes).size === dashes.length, dashes.join());
}));

test("reduced motion: nothing moves", () => on("#tab=compare", async (page) => {
  assert.equal(await page.locator(".track .fill").first().evaluate((e) => getComputedStyle(e).transitionDuration), "0s");
}, { reducedMotion: "reduce" }));

test("trend: at most six series, one regime unasked, points lead to their run", () => on("#tab=trend", async (page) => {
  assert.equal(await page.locator(".legend input:checked").count(), 6);
  assert.equal(await page.locator(".note", { hasText: "different conditions" }).count(), 0);
  assert.ok(await page.locator("canvas").count() === 1);
  await page.locator(".legend input:checked").first().click();
  const other = page.locator(".legend h3", { hasText: "shared prefix" }).locator("+ ul input");
  await other.check();
  assert.match(await page.locator(".note", { hasText: "different conditions" }).innerText(), /do not compare/);
  assert.equal(await page.locator(".legend input:checked").count(), 6);
  assert.ok(await page.locator(".legend input:not(:checked):disabled").count() > 0);
}));

async function downloaded(page, selector) {
  const [got] = await Promise.all([page.waitForEvent("download"), page.locator(selector).click()]);
  return { name: got.suggestedFilename(), text: readFileSync(await got.path(), "utf8") };
}

test("downloads: CSV and JSON of what is shown", () => on("#tab=compare", async (page) => {
  const csv = await downloaded(page, "[data-key=csv]");
  assert.equal(csv.name, "assay-compare.csv");
  const lines = csv.text.split("\r\n");
  assert.match(lines[0], /^path,evidence,era,weights,timestamp,suite,model,.*,value,unit,rate_basis,/);
  assert.equal(lines.length - 2, await page.locator(".bar").count());
  const json = JSON.parse((await downloaded(page, "[data-key=json]")).text);
  const smol = json.find((row) => row.model === "SmolLM2-135M-Instruct" && row.prompt === "~512");
  assert.equal(smol.value, 1204.6 * (1 + 0.03 * 4));
  assert.equal(json.find((row) => row.model === "Mistral-7B-v0.3").prefix_policy, null);
  // The buttons of a page that was changed in place speak of what it shows now.
  await page.locator("[data-key='f-model-Qwen3-8B-4bit']").check();
  const fewer = JSON.parse((await downloaded(page, "[data-key=json]")).text);
  assert.equal(fewer.length, await page.locator(".bar").count());
  assert.deepEqual([...new Set(fewer.map((row) => row.model))], ["mlx-community/Qwen3-8B-4bit"]);
  for (const tab of ["trend", "table", "context", "campaign", "pair"]) {
    await visit(page, `#tab=${tab}&campaign=clean-reset`);
    assert.ok(JSON.parse((await downloaded(page, "[data-key=json]")).text).length > 1, tab);
    assert.ok((await downloaded(page, "[data-key=csv]")).text.split("\r\n").length > 2, tab);
  }
}));

test("table: sorted by a column, blanks last, cumulative and decode side by side", () => on("#tab=table", async (page) => {
  const heads = await text(page, ".pivot thead th");
  assert.match(heads[1], /Cumulative throughput/);
  assert.match(heads[2], /decode window/);
  await page.locator(".pivot thead .sort").first().click();
  const column = async () => (await text(page, ".pivot tbody tr td:nth-child(2)")).map((v) => Number(v.replaceAll(",", "")));
  const down = await column();
  assert.deepEqual(down, [...down].sort((a, b) => b - a));
  await page.locator(".pivot thead .sort").first().click();
  assert.equal(await page.locator(".pivot th[aria-sort=ascending]").count(), 1);
  assert.deepEqual(await column(), [...down].reverse());
}));

test("run: a shard that is gone leaves what the index says", () => on(`#tab=run&run=${file("invalid")}&ev=invalid`, async (page) => {
  await page.waitForSelector("[data-loaded]");
  const main = await page.locator("main").innerText();
  assert.match(main, /wrong-weights[\s\S]*the proxy served other weights[\s\S]*not there any more/);
  assert.match(main, /What the index says/);
}, { faults: true }));

test("refresh reads the index again", async () => {
  const runs = [makeRun("a", { rows: probeRows(10) })];
  const own = await servePage({ index: () => makeIndex(runs) });
  const page = await openPage(browser, own.url);
  assert.match(await page.locator(".tally").innerText(), /^1 run/);
  runs.push(makeRun("b", { model: "newcomer" }));
  await page.locator("[data-key=refresh]").click();
  await page.waitForFunction(() => document.querySelector(".tally").innerText.startsWith("2 runs"));
  assert.ok(page.requests.some((address) => address.includes("refresh=1")));
  await page.context().close();
  await own.close();
});
