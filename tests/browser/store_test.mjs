// The whole way: result files → assay-publish → store → assay-view → Chromium; served, exported as one file, exported as a folder.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { kTabs, launch, openPage, visit } from "./browser.mjs";
import { probeFile, sealedFiles } from "./files.mjs";
import { serveFolder } from "./server.mjs";

const bin = process.env.ASSAY_BIN_DIR;  // where the programs are; run.sh has looked

let folder, store, server, url, browser, sealedShard;
const environment = () => ({ ...process.env, XDG_CACHE_HOME: join(folder, "cache"), XDG_STATE_HOME: join(folder, "state"), TZ: "UTC" });
const run = (program, ...args) => execFileSync(join(bin, program), args, { cwd: folder, env: environment(), encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
const publish = (...args) => run("assay-publish", "publish", ...args, "--suite", "throughput", "--git-sha", "abcdef1", "--store", `file://${store}`).trim();

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "assay-page-"));
  store = join(folder, "store");
  mkdirSync(join(folder, "out"));
  for (const [name, change] of [["a.json", { rate: 100 }], ["b.json", { rate: 140, model: "mlx-community/other-4bit" }], ["c.json", { rate: 90, prompt: 16384 }]]) {
    publish(probeFile(folder, name, change), "--index-status", "scored", "--serving-stack", "llama.cpp", "--env-class", "isolated");
  }
  publish(probeFile(folder, "d.json", { rate: 77, model: "<img src=x onerror='window.hacked=1'>" }), "--index-entry", "caveat=</script><script>window.hacked=1</script>", "--index-status", "scored");
  publish(probeFile(folder, "e.json", { rate: 61, model: "org/cold-start", campaign: { id: "first-contact", cell_id: "c1", profile: "base" },
    readiness: { initial_model_state: "cold", first_request: { ok: true, ttft_s: 8.125, total_s: 9.5, prompt_tokens: 12 } } }),
  "--index-status", "scored", "--serving-stack", "llama.cpp", "--env-class", "isolated");
  sealedShard = publish(sealedFiles(join(folder, "out")), "--max-tokens", "128").replace(/^data\//, "");
  writeFileSync(join(store, "data/run-2026-10-03T00-00-00-abcdef1-throughput-half-00000000.parquet"), readFileSync(join(store, "data", sealedShard)).subarray(0, 5000));
  server = spawn(join(bin, "assay-view"), ["serve", "--store", `file://${store}`, "--quiet"], { env: environment(), stdio: ["ignore", "pipe", "inherit"] });
  url = await new Promise((resolve, reject) => {
    let out = "";
    server.stdout.on("data", (bytes) => {
      out += bytes;
      if (out.includes("\n")) resolve(out.trim());
    });
    server.on("exit", (code) => reject(new Error(`assay-view serve ended with ${code}`)));
  });
  if (!url.endsWith("/")) url += "/";
  browser = await launch();
});
after(async () => {
  await browser?.close();
  if (server && server.exitCode === null) {
    server.removeAllListeners("exit");
    const ended = new Promise((resolve) => server.on("exit", resolve));
    server.kill("SIGTERM");
    await ended;
  }
  if (folder) rmSync(folder, { recursive: true, force: true });
});

async function checkSealedRun(page) {
  await visit(page, `#tab=run&run=${encodeURIComponent(sealedShard)}`);
  const main = await page.locator("main").innerText();
  assert.match(main, /Composite score\s+1\.37×\s+✓ passed/);
  assert.match(main, /95 % interval 1\.33× to 1\.41×/);
  assert.match(main, /Decode gain\s+1\.50×/);
  assert.match(main, /floor 0\.90× held/);
  assert.equal(await page.locator(".leg-control").count(), 12, "four pairs, three phases");
  assert.equal(await page.locator(".legs .leg-candidate").count(), 12);
  assert.match(main, /tokens passed\s+128 tokens compared with the golden in 2 cases/);
  assert.match(main, /2 passed,\s+2 skipped/);
  const score = readFileSync(join(folder, "out/score.json"));
  const digest = createHash("sha256").update(score).digest("hex");
  assert.ok(main.includes(digest), "the score's digest");
  assert.match(main, /benchd score verify score\.json/);
  assert.match(main, /candidate program\s+bin\/candidate\s+[0-9a-f]{64}/);
  const checks = await page.locator("[data-check] .chip").allInnerTexts();
  assert.deepEqual(checks, ["✓ agrees", "✓ agrees", "✓ agrees", "✓ agrees"]);
}

test("served: real shards, the broken one named, the sealed run complete", async () => {
  const page = await openPage(browser, url);
  assert.equal(await page.locator(".e-scored").getAttribute("aria-checked"), "true");
  const values = (await page.locator(".bar .value b").allInnerTexts()).map((v) => v.trim());
  assert.ok(values.includes("100.0") && values.includes("140.0") && values.includes("90.0"), values.join());
  await page.locator(".problems summary").click();
  assert.match(await page.locator(".problems").innerText(), /half-00000000\.parquet\s+SHARD-UNREADABLE/);
  await page.locator(".e-experimental").click();
  assert.match(await page.locator(".notices").innerText(), /not for ranking/);
  await page.locator("#tab-pair").click();
  assert.match(await page.locator(".pair").innerText(), /1\.50×/);  // 0.033 ÷ 0.022
  await checkSealedRun(page);
  const plain = readdirSync(join(store, "data")).find((name) => name.includes("other-4bit"));
  await visit(page, `#tab=run&ev=scored&run=${encodeURIComponent(plain)}`);
  assert.match(await page.locator("main").innerText(), /throughput_total_toks_per_s\s+140\.0 tok\/s\s+request/);
  // The first request of a probe: apart in its campaign's cell, nowhere else.
  await visit(page, "#tab=campaign&ev=scored&campaign=first-contact");
  assert.equal(await page.locator(".cell .cold").innerText(), "first request, model cold: first token 8,125.00 ms, in all 9.50 s");
  for (const tab of ["compare", "trend", "table", "context", "pair"]) {
    await visit(page, `#tab=${tab}&ev=scored&f.model=org/cold-start`);
    assert.ok(!(await page.locator("main").innerText()).includes("8,125"), tab);
    assert.equal(await page.locator("option[value^=readiness]").count(), 0, tab);
  }
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.ok(page.requests.every((address) => address.startsWith(url) || address.startsWith("blob:")), page.requests.join("\n"));
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("one file: works from the disk without a network, shards included", async () => {
  run("assay-view", "export", "--store", `file://${store}`, "-o", join(folder, "record.html"));
  const address = pathToFileURL(join(folder, "record.html")).href;
  const page = await openPage(browser, address, { offline: true });
  for (const tab of kTabs.slice(0, 6)) {
    await page.locator(`#tab-${tab}`).click();
    await page.waitForSelector(`#app[data-tab=${tab}]`);
    assert.ok((await page.locator("main").innerText()).length > 60, tab);
  }
  assert.equal(await page.locator("[data-key=refresh]").count(), 0);
  await checkSealedRun(page);
  const again = await openPage(browser, `${address}#tab=compare&ev=scored&suite=throughput&f.model=other-4bit`, { offline: true });
  assert.deepEqual(await again.locator(".bar .model").allInnerTexts(), ["other-4bit"]);
  for (const p of [page, again]) {
    assert.equal(await p.evaluate(() => window.hacked), undefined);
    assert.deepEqual(p.requests.filter((r) => !r.startsWith("data:") && !r.startsWith(address)), []);
    assert.deepEqual(p.faults, []);
    await p.context().close();
  }
});

test("export: no target, or two, is no command line", () => {
  const refused = (...args) => assert.throws(() => run("assay-view", "export", "--store", `file://${store}`, ...args),
    (error) => error.status === 2 && /USAGE-/.test(error.stderr) && /expected/.test(error.stderr));
  refused();
  refused("a.html", "-o", "b.html");
});

test("a folder: any web server shows it", async () => {
  run("assay-view", "export", join(folder, "site"), "--store", `file://${store}`);
  const site = await serveFolder(join(folder, "site"));
  const page = await openPage(browser, site.url);
  assert.ok(await page.locator(".bar").count() >= 3);
  await checkSealedRun(page);
  assert.ok(page.requests.every((address) => address.startsWith(site.url)), page.requests.join("\n"));
  await page.context().close();
  await site.close();
});
