// Chromium for the tests: started once, one fresh context a test, everything it does to the network recorded.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { kRoot } from "./server.mjs";

export const kChromium = process.env.ASSAY_CHROMIUM || "/usr/bin/chromium";

export async function launch() {
  const { chromium } = createRequire(join(kRoot, "build/playwright/x.js"))("playwright-core");
  if (!existsSync(kChromium)) throw new Error(`no browser at ${kChromium}`);
  return chromium.launch({ executablePath: kChromium, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
}

/** A page with `requests` (addresses) and `faults` (script errors, refused policies) filled as it goes. */
export async function openPage(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30000);
  page.requests = [];
  page.faults = [];
  page.on("request", (request) => page.requests.push(request.url()));
  page.on("pageerror", (error) => page.faults.push(String(error.stack ?? error)));
  page.on("console", (message) => { if (message.type() === "error") page.faults.push(message.text()); });
  await page.goto(address);
  await page.waitForSelector("#app[data-state]");
  return page;
}

/** Goes to another state of the same page, as a link would. */
export async function visit(page, hash) {
  await page.evaluate((h) => { location.hash = h; }, hash);
  const tab = new URLSearchParams(hash.slice(1)).get("tab") ?? "compare";
  await page.waitForSelector(`#app[data-tab="${tab}"]`);
  if (tab === "run") await page.waitForSelector("[data-loaded], main > .empty");
}

export const kTabs = ["compare", "trend", "table", "context", "campaign", "pair", "run"];
