// SPDX-License-Identifier: Apache-2.0
// Every page of the dashboard in Chromium: what is on it, no complaint on the console, no accessibility
// violation, the keyboard, live updates, screenshots in three widths and two colours.
//   node pages.mjs URL SCREENSHOTS REPORT BEST COUNT     BEST of COUNT candidates is the best of the demo
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const [url, screenshots, report, best, count] = process.argv.slice(2);
const another = ["5", "6"].find((number) => number !== best);  // whose timeline nobody has kept
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"],
});
const complaints = [];

async function open(path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, bypassCSP: false, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(`${path}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`${path}: ${error.message}`));
  page.on("request", (request) => {
    const to = new URL(request.url());
    if (to.protocol.startsWith("http") && to.origin !== url) complaints.push(`${path}: asks ${request.url()}`);
  });
  await page.goto(path.startsWith("file:") ? path : url + path);
  return page;
}

async function accessible(page, name) {
  // Playwright evaluates beside the page's policy, which would refuse the script.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "best-practice"] }));
  for (const violation of violations)
    complaints.push(`${name}: ${violation.id}: ${violation.help}: ${violation.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(" | ")}`);
}

const steps = {
  async "lists runs"() {
    const page = await open("/");
    await page.getByText("● running").waitFor();
    assert.equal(await page.locator(".card").count(), 4);
    await accessible(page, "runs");
    await page.locator(".card").last().click();
    await page.getByRole("heading", { name: "gemm_allgather" }).waitFor();
    assert.equal(new URL(page.url()).pathname, "/runs/demo");
    await page.goBack();
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  },
  async "shows a run"() {
    const page = await open("/runs/demo");
    await page.locator(".vrow").nth(count - 1).waitFor();
    await page.locator(".u-over").waitFor();
    await page.getByRole("heading", { name: "Before and after" }).waitFor();
    await page.locator(".timeline rect").first().waitFor();
    const before = await page.locator(".timeline rect").first().getAttribute("width");
    await page.getByRole("button", { name: "Zoom in" }).click();
    assert.notEqual(await page.locator(".timeline rect").first().getAttribute("width"), before);
    await accessible(page, "run");
    await page.getByRole("button", { name: /LSA/ }).first().click();
    assert.match(await page.getByLabel("Filter the candidates").inputValue(), /LSA/);
  },
  async "can be used with the keyboard"() {
    const page = await open("/runs/demo");
    await page.locator(".vrow").first().waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("producer-fused");
    const rows = await page.locator(".vrow").allTextContents();
    assert.ok(rows.length > 1 && rows.length < count, `${rows.length} rows`);
    for (const row of rows) assert.match(row, /producer-fused/);
    await page.getByRole("button", { name: /over seed/ }).focus();
    await page.keyboard.press("Enter");
    const first = await page.locator(".vrow").first().getAttribute("id");  // as fast as the best, if not the best
    const gain = async (row) => (await page.locator(`#${row}`).textContent()).match(/\d\.\d\dx/)[0];
    assert.equal(await gain(first), await gain(`row-${best}`));
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: new RegExp(`#${first.slice("row-".length)}\\b`) }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("r");
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  },
  async "shows how the best candidate came about"() {
    const page = await open("/runs/demo");
    const graph = page.getByRole("region", { name: new RegExp(`^Lineage of #${best}\\b`) });
    await graph.locator(".node.on").first().waitFor();
    const path = await graph.locator(".node.on b").allTextContents();
    assert.equal(path[0], "#0");
    assert.equal(path.at(-1), `#${best}`);
    assert.equal(await graph.locator(".edge.on").count(), path.length - 1);
    await graph.locator(".node.on").first().focus();
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.evaluate(() => document.activeElement.querySelector("b").textContent), path[1]);
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.evaluate(() => document.activeElement.id), "node-1-1");
    await page.keyboard.press("ArrowLeft");
    assert.equal(await page.evaluate(() => document.activeElement.id), "node-0-0");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: new RegExp(`^${path[1]} `) }).waitFor();
  },
  async "shows a candidate rank by rank, or offers to record that"() {
    let page = await open(`/runs/demo/candidates/${best}`);
    await page.locator(".timeline rect").first().waitFor();
    await page.getByText(new RegExp(`^#${best}: `)).waitFor();
    page = await open(`/runs/demo/candidates/${another}`);
    await page.getByRole("heading", { name: "Rank by rank" }).waitFor();
    page = await open("/runs/demo/candidates/0");
    await page.getByText(/judged once more: about .* s, on virtual GPUs and in/).waitFor();
    await accessible(page, "candidate without a timeline");
    await page.getByRole("button", { name: "Record its timeline" }).click();
    // Its workload is not in the server's folder.
    await page.getByText("It was not recorded.").waitFor();
    assert.ok(await page.getByRole("button", { name: "Record its timeline" }).isEnabled());
  },
  async "shows a candidate with its changes"() {
    const page = await open(`/runs/demo/candidates/${best}`);
    await page.getByText("virtual/final").waitFor();
    await page.locator(".cm-changedLine").first().waitFor();
    await page.getByRole("button", { name: "One column" }).click();
    await page.locator(".cm-insertedLine, .cm-changedLine").first().waitFor();
    await page.getByLabel("the whole program").click();
    await page.locator(".cm-line").first().waitFor();
    await accessible(page, "candidate");
  },
  async "compares two candidates"() {
    const page = await open("/runs/demo");
    await page.getByLabel("Compare #2").check();
    await page.getByLabel(`Compare #${best}`).check();
    await page.getByRole("link", { name: `Compare #2 and #${best}` }).click();
    await page.getByText("medium fp32").first().waitFor();
    await page.locator(".differs").first().waitFor();
    await page.locator(".timeline rect").first().waitFor();
    for (const title of [/^seed: /, /^#2: /, new RegExp(`^#${best}: `)]) assert.equal(await page.locator(".timeline svg").getByText(title).count(), 1);
    await page.locator(".cm-line").first().waitFor();
    await accessible(page, "compare");
  },
  async "says what is not there"() {
    let page = await open("/knowledge");
    await page.getByText("Nothing has been learnt yet").waitFor();
    await accessible(page, "knowledge");
    process.stdout.write("learn\n");
    await answers.next();
    await page.reload();
    await page.getByRole("heading", { name: /^all-gather after gemm/ }).waitFor();
    assert.match(await page.locator("tbody tr").first().textContent(), /producer-fused.*predicted.*1211.*<b>/);
    assert.equal(await page.locator("td b").count(), 0);
    await accessible(page, "knowledge");
    page = await open("/runs/demo/cost");
    await page.getByText("It asked no model").waitFor();
    page = await open("/nowhere");
    await page.getByText("There is no such page").waitFor();
    const known = complaints.length;
    page = await open("/runs/77");
    await page.getByText("no run '77'").first().waitFor();
    await accessible(page, "problem");
    complaints.length = known;  // the browser itself tells of the 404
    page = await open("/runs/demo/candidates/99");
    await page.getByText("no candidate #99").waitFor();
    complaints.length = known;
  },
  async "tells what happens while it happens"() {
    const page = await open("/runs/0001");
    await page.getByText("live", { exact: true }).waitFor();
    assert.equal(await page.locator(`#row-${count}`).count(), 0);
    process.stdout.write("add\n");
    await answers.next();
    const begin = Date.now();
    await page.locator(`#row-${count}`).waitFor();
    const seconds = (Date.now() - begin) / 1000;
    console.log(`a new candidate was seen after ${seconds.toFixed(2)} s`);
    assert.ok(seconds < 1, `${seconds} s`);
  },
  async "shows ten thousand candidates at once"() {
    const page = await open("/runs/0002");
    let paint = Infinity, table = Infinity;
    for (let tries = 0; tries < 3 && paint > 500; tries++) {  // others may be using this machine
      if (tries > 0) await page.reload();
      await page.locator(".vrow").first().waitFor();
      table = Math.min(table, await page.evaluate(() => performance.now()));
      paint = Math.min(paint, await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
    }
    console.log(`10,000 candidates: first paint after ${paint.toFixed(0)} ms, table within ${table.toFixed(0)} ms`);
    assert.ok(paint < 1000, `${paint} ms`);
    assert.ok((await page.locator(".vrow").count()) < 60, "rows out of sight are drawn");
    const nodes = await page.locator(".lineage-graph .node").count();
    assert.ok(nodes > 1 && nodes < 60, `${nodes} candidates in the lineage`);
    await page.locator(".vbody").focus();
    await page.keyboard.press("End");
    await page.locator(`#row-${Number(count) + 9_999}`).waitFor();
    await page.getByLabel("Filter the candidates").fill("wrong result #7000");
    await page.locator("#row-7000").waitFor();
  },
  async "shows the search's archive, island by island"() {
    const page = await open("/runs/0002");
    const archive = page.getByRole("region", { name: "Archive" });
    await archive.locator(".cell").first().waitFor();
    assert.ok((await archive.locator(".cell").count()) >= 3);
    await page.locator("section", { has: archive }).screenshot({ path: `${screenshots}/archive.png` });
    await archive.locator(".cell").first().click();
    assert.match(await page.getByLabel("Filter the candidates").inputValue(), / · .* · /);
    const islands = page.getByRole("group", { name: "Island" }).getByRole("button");
    if ((await islands.count()) > 1) {
      await islands.nth(1).click();
      assert.equal(await islands.nth(1).getAttribute("aria-pressed"), "true");
    }
    await accessible(page, "archive");
  },
  async "shows costs a page at a time"() {
    const page = await open("/runs/0002/cost");
    const rows = page.getByRole("region", { name: "By candidate" }).locator("tbody tr");
    await rows.nth(199).waitFor();
    assert.equal(await rows.count(), 200);
    await page.getByRole("button", { name: "Show more" }).click();
    await rows.nth(399).waitFor();
    await page.getByRole("button", { name: "Show more" }).click();
    await rows.nth(499).waitFor();
    assert.equal(await page.getByRole("button", { name: "Show more" }).count(), 0);
    await accessible(await open("/runs/0003/cost"), "cost");  // the same with few rows: axe looks at each
  },
  async "shows foreign text as text"() {
    for (const path of ["/runs/0003", `/runs/0003/candidates/${count}`, "/runs/0003/cost"]) {
      const page = await open(path);
      await page.getByText("<script>", { exact: false }).first().waitFor();
      assert.doesNotMatch(await page.title(), /owned/);
      assert.equal(await page.locator("img[onerror]").count(), 0);
    }
  },
  async "shows a report without a server"() {
    const page = await open(`file://${report}`);
    await page.getByRole("heading", { name: "What was checked" }).waitFor();
    assert.equal(await page.locator("script").count(), 0);
    await accessible(page, "report");
  },
  async "fits every width, light and dark"() {
    const pages = { runs: "/", run: "/runs/demo", candidate: `/runs/demo/candidates/${best}`, compare: `/runs/demo/compare/2/${best}`, large: "/runs/0002", knowledge: "/knowledge", cost: "/runs/0002/cost", report: `file://${report}` };
    for (const colorScheme of ["light", "dark"]) {
      for (const [name, path] of Object.entries(pages)) {
        const page = await open(path, { colorScheme });
        for (const width of [1440, 1024, 400]) {
          await page.setViewportSize({ width, height: 900 });
          await page.waitForFunction(() => !document.body.textContent.includes("Loading …"));
          await page.waitForTimeout(250);
          const needed = await page.evaluate(() => document.documentElement.scrollWidth);
          if (needed > width) complaints.push(`${name} is ${needed} pixels wide at ${width}`);
          await page.screenshot({ path: `${screenshots}/${name}-${width}-${colorScheme}.png` });
        }
        if (colorScheme === "dark") await accessible(page, `${name}, dark`);
        await page.context().close();
      }
    }
  },
};

let failed = 0;
for (const [name, step] of Object.entries(steps)) {
  const begin = Date.now();
  const known = complaints.length;
  try {
    await step();
    assert.deepEqual(complaints.slice(known), []);
    console.log(`ok   ${name} (${((Date.now() - begin) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}: ${error.message}`);
  }
  for (const context of browser.contexts()) await context.close();
}
await browser.close();
process.exit(failed > 0 ? 1 : 0);
