// How long the page takes with many shards: one JSON line a figure. Not a test; the machine decides.
//
//   node tests/browser/speed.mjs [shards]      10,000 when not said
import { launch } from "./browser.mjs";
import { bigIndex } from "./fixture.mjs";
import { servePage } from "./server.mjs";

const count = Number(process.argv[2] ?? 10000);
const index = JSON.stringify(bigIndex(count));
const site = await servePage({ index });
const browser = await launch();
const report = (figure, ms) => console.log(JSON.stringify({ figure, shards: count, ms: Number(ms.toFixed(1)) }));
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const loads = [];
  for (let i = 0; i < 3; ++i) {
    await page.goto("about:blank");
    await page.goto(site.url);
    await page.waitForSelector(".bar");
    // From the start of the navigation to the frame that shows the first chart.
    loads.push(await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(performance.now()), 0)))));
  }
  report("first chart", loads.sort((a, b) => a - b)[1]);
  // One change: from the click to the next frame, layout and painting included.
  const change = (selector) => page.evaluate((s) => new Promise((resolve) => {
    const element = document.querySelector(s);
    const started = performance.now();
    element.click();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - started), 0));
  }), selector);
  const median = async (selectors) => {
    const times = [];
    for (const selector of selectors) times.push(await change(selector));
    return times.sort((a, b) => a - b)[times.length >> 1];
  };
  const models = Array.from({ length: 9 }, (_, i) => `[data-key="f-model-org/model-${i}"]`);
  for (const tab of ["compare", "table", "trend", "context", "campaign", "pair"]) {
    report(`open ${tab}`, await change(`#tab-${tab}`));
    report(`filter change, ${tab}`, await median([...models, ...models]));
  }
} finally {
  await browser.close();
  await site.close();
}
