// The page of advice, as a person on a phone uses it.

import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { MOVED, advisePage, movedPage } from "../../site/advise.mjs";
import { browserPath, launch, serve } from "./site.mjs";

const skip = browserPath() === null ? "Chromium is not installed" : false;
const PHONE = { width: 390, height: 800, isMobile: true, hasTouch: true };

let site, browser;
before(async () => {
  if (skip) return;
  site = await serve(path.join(import.meta.dirname, "../dist"));
  browser = await launch();
});
after(async () => {
  await browser?.close();
  site?.close();
});

async function open(hash, viewport = PHONE) {
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  await page.setViewport(viewport);
  await page.goto(`${site.address}advise.html${hash}`);
  return page;
}

test("a person types a line, sees a first answer, and copies what to set", { skip, timeout: 300_000 }, async () => {
  const page = await open("");
  await page.waitForFunction(() => document.querySelectorAll("select[name=link] option").length > 5);
  await page.type("input[name=down]", "3");
  await page.type("input[name=up]", "1");
  await page.select("select[name=link]", "cable");
  await page.click("button[type=submit]");
  await page.waitForSelector(".numbers");
  await page.waitForSelector("section[data-router]:not([hidden]) .setting pre");
  const [today, advised] = await page.$$eval(".numbers .ms", (all) => all.map((one) => parseFloat(one.textContent)));
  assert.ok(today > 4 * advised, `${today} ms today, ${advised} ms with the setting`);
  assert.match(await page.$eval("section[data-router]:not([hidden]) .setting pre", (one) => one.textContent), /option qdisc 'cake'/);
  assert.match(await page.evaluate(() => location.hash), /down=3&up=1&link=cable/);
  await page.evaluate(() => [...document.querySelectorAll("button")].find((one) => one.textContent === "Show the packets of both").click());
  const frame = await (await page.waitForSelector("iframe.show")).contentFrame();
  await frame.waitForSelector(".column:nth-child(2) .scene");
  await page.close();
});

test("a link holds the question, and the page fits a phone", { skip, timeout: 300_000 }, async () => {
  const page = await open("#down=2&up=1&link=adsl&idle=30&loaded=600");
  await page.waitForSelector("section[data-router]:not([hidden]) .setting pre");
  assert.equal(await page.$eval("input[name=loaded]", (one) => one.value), "600");
  assert.match(await page.evaluate(() => document.body.textContent), /from your pings/);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= PHONE.width);
  const headings = await page.$$eval("h2", (all) => all.map((one) => one.textContent));
  for (const part of ["What happens today", "What to set", "What changes", "What it costs"]) {
    assert.ok(headings.some((heading) => heading.startsWith(part)), `${part} is not in ${headings}`);
  }
  await page.close();
});

/** A test of Flent with 5 s without load at both ends: pings of 20 and 320 ms, 1.8 and 0.5 Mbit/s. */
function flent() {
  const times = Array.from({ length: 100 }, (_, step) => step * 0.2);
  const series = (idle, loaded) => times.map((time) => (time >= 5 && time < 15 ? loaded : idle));
  return JSON.stringify({
    version: 4,
    x_values: times,
    results: { "Ping (ms) ICMP": series(20, 320), "TCP download BE": series(null, 1.8), "TCP upload BE": series(null, 0.5) },
    metadata: { LENGTH: 10, TOTAL_LENGTH: 20 },
  });
}

test("a file of Flent gives the rates and the pings", { skip, timeout: 300_000 }, async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "goodqueue-"));
  const file = path.join(folder, "rrul.flent");
  await writeFile(file, flent());
  const page = await open("");
  await page.waitForFunction(() => document.querySelectorAll("select[name=link] option").length > 5);
  await page.select("select[name=link]", "cable");
  await page.evaluate(() => { document.querySelector("form details").open = true; });
  await (await page.$("input[type=file]")).uploadFile(file);
  await page.waitForFunction(() => document.body.textContent.includes("come from rrul.flent"));
  await page.click("button[type=submit]");
  await page.waitForSelector("section[data-router]:not([hidden]) .setting pre");
  assert.match(await page.evaluate(() => document.body.textContent), /from your pings/);
  await page.close();
  await rm(folder, { recursive: true });
});

test("what is missing is said in words, and hostile links change nothing", { skip, timeout: 120_000 }, async () => {
  const page = await open("#down=<img src=x>&up=1e9&link=%22onload%22");
  await page.waitForFunction(() => document.querySelectorAll("select[name=link] option").length > 5);
  assert.equal(await page.$eval("input[name=down]", (one) => one.value), "");
  await page.click("button[type=submit]");
  await page.waitForSelector("[role=alert]");
  assert.match(await page.$eval("[role=alert]", (one) => one.textContent), /Choose the kind of your line/);
  assert.equal(await page.$("img"), null);
  await page.close();
});

test("on the site the page is at /advise/, and a link to its old address brings the question along", { skip, timeout: 300_000 }, async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "goodqueue-site-"));
  const old = path.join(folder, "playground", "advise.html");
  await cp(path.join(import.meta.dirname, "../dist"), path.join(folder, "playground"), { recursive: true });
  await mkdir(path.join(folder, "advise"));
  await writeFile(path.join(folder, "advise", "index.html"), advisePage(await readFile(old, "utf8")));
  await writeFile(path.join(folder, "playground", "moved.js"), MOVED);
  await writeFile(old, movedPage("moved.js"));
  const whole = await serve(folder);
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  await page.goto(`${whole.address}playground/advise.html#down=2&up=1&link=cable`);
  await page.waitForFunction(() => location.pathname === "/advise/");
  await page.waitForSelector("section[data-router]:not([hidden]) .setting pre");
  assert.match(await page.evaluate(() => location.href), /\/advise\/#down=2&up=1&link=cable/);
  await page.evaluate(() => [...document.querySelectorAll("button")].find((one) => one.textContent === "Show the packets of both").click());
  const frame = await (await page.waitForSelector("iframe.show")).contentFrame();
  await frame.waitForSelector(".column:nth-child(2) .scene");
  await page.close();
  whole.close();
  await rm(folder, { recursive: true });
});
