// The built site in a browser without a window. `make site` runs this; a site that was built earlier may be an old one.

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

const dist = path.join(import.meta.dirname, "../dist");
const helper = path.join(import.meta.dirname, "../../playground/tests/site.mjs");
const has = (file) => existsSync(path.join(dist, file));
// The helper needs the packages of the playground.
const tools = existsSync(path.join(import.meta.dirname, "../../playground/node_modules/puppeteer-core")) ? await import(helper) : null;
const skip = tools === null || tools.browserPath() === null ? "Chromium is not installed" : process.env.SITE_BUILT ? false : "the site is not built";

let site, browser;
before(async () => {
  if (skip) return;
  site = await tools.serve(dist);
  browser = await tools.launch();
});
after(async () => {
  await browser?.close();
  site?.close();
});

const WIDTHS = [1280, 390];

async function open(address, width) {
  const page = await browser.newPage();
  await page.setViewport({ width, height: 900 });
  await page.goto(`${site.address}${address}`);
  return page;
}

for (const width of WIDTHS) {
  test(`the front page of ${width} pixels says what goodqueue is, and shows the whole picture`, { skip }, async () => {
    const page = await open("", width);
    assert.match(await page.$eval(".first", (one) => one.textContent), /goodqueue shows what a queue discipline does to the latency and the throughput/);
    // The frame is as high as its content when the last row of the last column is there.
    await page.waitForFunction(() => {
      const frame = document.querySelector("iframe.playground");
      const last = frame?.contentDocument?.querySelector(".column:last-child .losses")?.getBoundingClientRect();
      return last !== undefined && last.bottom <= frame.clientHeight && frame.contentDocument.documentElement.scrollHeight <= frame.clientHeight;
    });
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
    await page.close();
  });
}

test("no diagram of a discipline is cut on a desktop", { skip }, async () => {
  const names = readdirSync(path.join(dist, "disciplines")).filter((name) => name.endsWith(".html"));
  assert.ok(names.length > 20);
  const page = await open("disciplines/index.html", 1280);
  for (const name of names) {
    await page.goto(`${site.address}disciplines/${name}`);
    const cut = await page.$$eval(".vp-doc pre", (all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent.slice(0, 80)));
    assert.deepEqual(cut, [], name);
  }
  await page.close();
});

test("wide tables fit a desktop, and scroll in their own box on a phone", { skip }, async () => {
  for (const width of WIDTHS) {
    for (const address of ["audit.html", "disciplines/pie.html", "papers.html"]) {
      const page = await open(address, width);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `${address} at ${width}`);
      const tables = await page.$$eval(".vp-doc table", (all) => all.map((one) => [one.scrollWidth > one.clientWidth, getComputedStyle(one).overflowX]));
      for (const [isWider, overflow] of tables) {
        assert.ok(width < 1000 || !isWider, `a table of ${address} is cut at ${width}`);
        assert.ok(!isWider || overflow === "auto", `a table of ${address} does not scroll`);
      }
      await page.close();
    }
  }
});

test("the reports of papers lead back to the site, and fit its pages", { skip }, async () => {
  const reports = ["report.html", ...readdirSync(path.join(dist, "papers")).map((name) => `papers/${name}`)];
  assert.ok(reports.length > 1);
  for (const report of reports) {
    for (const width of WIDTHS) {
      const page = await open(report, width);
      const links = await page.$$eval('nav[aria-label="Site"] a', (all) => all.map((one) => one.href));
      assert.ok(links.length >= 3, report);
      for (const link of links) assert.ok(has(new URL(link).pathname.slice(1)), `${report} leads to ${link}`);
      const isVisible = await page.$eval('nav[aria-label="Site"]', (nav) => nav.getBoundingClientRect().top < 200 && nav.getBoundingClientRect().height > 0);
      assert.ok(isVisible, report);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `${report} at ${width}`);
      await page.close();
    }
  }
});
