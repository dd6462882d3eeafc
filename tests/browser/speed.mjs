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
// wall: by the clock. thread: the page's own processor time, which a busy machine does not stretch.
const round = (ms) => Number(ms.toFixed(1));
const report = (figure, [wall, thread], more = {}) => console.log(JSON.stringify({ figure, shards: count, wall_ms: round(wall), thread_ms: round(thread), ...more }));
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const thread = async () => (await devtools.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value * 1000;
  const middle = (list) => list.sort((a, b) => a[0] - b[0])[list.length >> 1];
  const loads = [];
  for (let i = 0; i < 3; ++i) {
    await page.goto("about:blank");
    const before = await thread();
    await page.goto(site.url);
    await page.waitForSelector(".bar");
    // From the start of the navigation to the frame that shows the first chart.
    const wall = await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(performance.now()), 0))));
    loads.push([wall, await thread() - before]);
  }
  report("first chart", middle(loads));
  // One change: from the click to the next frame, layout and painting included.
  const change = async (selector) => {
    const before = await thread();
    const wall = await page.evaluate((s) => new Promise((resolve) => {
      const element = document.querySelector(s);
      const started = performance.now();
      element.click();
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - started), 0));
    }), selector);
    return [wall, await thread() - before];
  };
  const changes = async (selectors) => {
    const times = [];
    for (const selector of selectors) times.push(await change(selector));
    return times;
  };
  const models = Array.from({ length: 9 }, (_, i) => `[data-key="f-model-org/model-${i}"]`);
  for (const tab of ["compare", "table", "trend", "context", "campaign", "pair"]) {
    report(`open ${tab}`, await change(`#tab-${tab}`));
    // Models are added one by one, then taken away; the last change shows all runs again.
    const times = await changes([...models, ...models]);
    report(`filter change, ${tab}`, middle(times), { worst_wall_ms: round(Math.max(...times.map(([wall]) => wall))) });
  }
} finally {
  await browser.close();
  await site.close();
}
