// SPDX-License-Identifier: Apache-2.0
// Watches a real search from its beginning to its end without reloading, then records a timeline.
//   node search.mjs URL SCREENSHOTS
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const [url, screenshots] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--no-first-run"] });
const complaints = [];
const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
page.setDefaultTimeout(600_000);
page.on("pageerror", (error) => complaints.push(error.message));

const limit = Date.now() + 120_000;  // the judge prepares before there is a run
while ((await (await fetch(`${url}/api/runs`)).json()).length === 0) {
  assert.ok(Date.now() < limit, "the search made no run");
  await new Promise((resolve) => setTimeout(resolve, 200));
}
page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
await page.goto(`${url}/runs/0001`);
await page.getByText("● running").waitFor();
await page.locator("#row-1").waitFor();
const early = await page.locator(".vrow").count();
await page.getByText(/^finished: /).first().waitFor();
const told = await page.locator(".vrow").count();
const stored = (await (await fetch(`${url}/api/runs/0001/candidates`)).json()).rows.length;
console.log(`${early} candidates when it was opened, ${told} at the end, ${stored} in the store`);
assert.equal(told, stored);
const best = (await (await fetch(`${url}/api/runs/0001`)).json()).best.candidate;
await page.goto(`${url}/runs/0001/candidates/${best}`);
await page.getByRole("button", { name: "Record its timeline" }).click();
await page.getByText("Recording …").waitFor();
const busy = await page.evaluate(async () => (await fetch("/api/runs/0001/candidates/0/timeline", { method: "POST" })).status);
assert.equal(busy, 409);
const begin = Date.now();
await page.locator(".timeline rect").first().waitFor();
console.log(`#${best}'s timeline was there after ${((Date.now() - begin) / 1000).toFixed(1)} s`);
await page.getByText(new RegExp(`^#${best}: `)).waitFor();
await page.locator("section", { has: page.locator(".timeline") }).screenshot({ path: `${screenshots}/recorded.png` });
await page.goto(`${url}/runs/0001/candidates/0`);
await page.locator(".timeline rect").first().waitFor();  // the seed's came with it
complaints.splice(0, complaints.length, ...complaints.filter((one) => !one.includes("409")));  // the browser tells of it
assert.deepEqual(complaints, []);
await browser.close();
