// The page in a browser without a window.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browserPath, launch, serve } from "./site.mjs";

const skip = browserPath() === null && process.env.CI === undefined ? "Chromium is not installed" : false;
let site, browser;

before(async () => {
  if (skip) return;
  site = await serve(new URL("../dist", import.meta.url).pathname);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  site?.close();
});

/** Opens the page, and fails at the end if it logged an error. */
async function open(hash = "", { width = 1280, height = 900, reducedMotion = false } = {}) {
  const page = await browser.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.setViewport({ width, height });
  if (reducedMotion) await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);
  await page.goto(`${site.address}${hash}`);
  await page.waitForSelector(".column");
  return { page, done: async () => { assert.deepEqual(errors, []); await page.close(); } };
}

const pings = (page) => page.$$eval(".ms", (all) => all.map((one) => parseFloat(one.textContent)));
const seconds = (page) => page.$eval(".clock", (clock) => parseFloat(clock.textContent));
const press = (page, name) => page.evaluate((text) => {
  [...document.querySelectorAll("button")].find((button) => button.textContent === text).click();
}, name);

test("at first sight the ping waits in the left queue and passes in the right one", { skip }, async () => {
  const { page, done } = await open();
  await page.select(".toolbar select", "4");
  await page.waitForFunction(() => parseFloat(document.querySelector(".ms").textContent) > 500, { timeout: 30_000 });
  const [left, right] = await pings(page);
  assert.ok(right < 120, `${left} ms and ${right} ms`);
  await page.waitForFunction(
    () => /pfifo limit 100 the ping takes \d+ ms.* fq_codel lets it pass/.test(document.querySelector(".sentence").textContent),
  );
  await done();
});

test("the clock pauses, steps from packet to packet, and starts again", { skip }, async () => {
  const { page, done } = await open();
  await page.waitForFunction(() => parseFloat(document.querySelector(".clock").textContent) > 0.5);
  await press(page, "Pause");
  await page.select(".toolbar select", "0.01");
  const until = (moved, from) => page.waitForFunction(
    (expected, before) => {
      const now = parseFloat(document.querySelector(".clock").textContent);
      return document.querySelector(".clock").textContent.length >= 7 && (now !== before) === expected;
    }, {}, moved, from,
  );
  await until(true, -1);
  const paused = await seconds(page);
  // Several packets may leave within the last digit of the clock.
  for (let step = 0; step < 20; step += 1) await press(page, "Step");
  await until(true, paused);
  const stepped = await seconds(page);
  assert.ok(stepped > paused && stepped < paused + 0.5, `${paused} s, then ${stepped} s`);
  await press(page, "Start");
  await until(true, stepped);
  await done();
});

test("a tc line is read as the command reads it, and its mistakes have the command's words", { skip }, async () => {
  const { page, done } = await open();
  const type = async (text) => {
    await page.$eval("#line-1", (input) => { input.value = ""; });
    await page.type("#line-1", text);
    await page.keyboard.press("Enter");
  };
  await type("fq_codel targe 3ms");
  await page.waitForSelector(".error");
  const error = await page.$eval(".error", (box) => box.textContent);
  assert.match(error, /has no parameter `targe`/);
  assert.match(error, /help: did you mean `target`\?/);
  await type("codel target 3ms");
  await page.waitForFunction(() => document.querySelector(".error") === null);
  await page.waitForFunction(() => decodeURIComponent(location.hash).includes("q=codel+target+3ms"));
  await done();
});

test("a link shows the same line with the same disciplines", { skip }, async () => {
  const { page, done } = await open("#up=2mbit&uploads=1&downloads=0&q=pie&q=cake+bandwidth+1900kbit&seed=3&v=0.0.1");
  assert.deepEqual(await page.$$eval(".line input", (all) => all.map((input) => input.value)), ["pie", "cake bandwidth 1900kbit"]);
  assert.equal(await page.$$eval(".column:first-child .flows li", (all) => all.length), 1);
  await page.waitForFunction(() => document.body.textContent.includes("This link was made with version 0.0.1"));
  await done();
});

const SCENARIO = `
title = "A line of mine"
question = "Who waits?"
duration = "20s"
qdiscs = [{ label = "in the router", down = "fq_codel", up = "pfifo limit 70" }, "codel"]
link = { down = "4mbit", up = "1mbit", rtt = "20ms" }
flows = [{ direction = "up", count = 3 }, { kind = "ping" }]
`;

test("a link opens a scenario file, and the file may be changed", { skip }, async () => {
  const { page, done } = await open(`#toml=${encodeURIComponent(SCENARIO)}`);
  assert.deepEqual(await page.$$eval(".line input", (all) => all.map((input) => input.value)), ["fq_codel / pfifo limit 70", "codel"]);
  assert.equal(await page.$eval(".column h2", (label) => label.textContent), "in the router");
  assert.match(await page.$eval("main", (main) => main.textContent), /Who waits\?/);
  assert.equal(await page.$$eval(".column:first-child .flows li", (all) => all.length), 3);
  await page.click(".scenario summary");
  await page.$eval(".scenario textarea", (area) => {
    area.value = area.value.replace("count = 3", "count = 2");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await page.waitForSelector(".scenario button:enabled");
  await press(page, "Run this scenario");
  await page.waitForFunction(() => document.querySelectorAll(".column:first-child .flows li").length === 2);
  assert.match(decodeURIComponent(page.url().replaceAll("+", " ")), /count = 2/);
  // Another line in the second column keeps the first one.
  await page.$eval("#line-1", (input) => { input.value = "pie"; input.dispatchEvent(new Event("change", { bubbles: true })); });
  await page.waitForFunction(() => location.hash.includes("q=pie"));
  await page.waitForFunction(() => document.querySelector(".error") === null && document.querySelectorAll(".column").length === 2);
  await done();
});

test("a link opens the scenario of a result as JSON", { skip }, async () => {
  const scenario = { duration: "5s", seed: 3, qdiscs: ["pfifo limit 50"], link: { down: "2mbit", rtt: "30ms" }, flows: [{ kind: "ping" }] };
  const { page, done } = await open(`#json=${encodeURIComponent(JSON.stringify(scenario))}`);
  assert.deepEqual(await page.$$eval(".line input", (all) => all.map((input) => input.value)), ["pfifo limit 50"]);
  await done();
});

test("a link with a scenario that the command refuses shows the command's words", { skip }, async () => {
  const page = await browser.newPage();
  await page.goto(`${site.address}#toml=${encodeURIComponent("duration = '2s'\nsurprise = 1\n")}`);
  await page.waitForSelector(".error");
  assert.match(await page.$eval(".error", (box) => box.textContent), /scenario.toml:2:1: .*surprise/);
  await page.close();
});

test("the page fits a phone, and nothing moves by itself for those who asked for calm", { skip }, async () => {
  const { page, done } = await open("", { width: 390, height: 844, reducedMotion: true });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 390, `${wide} pixels`);
  assert.equal(await page.$eval("button.main", (button) => button.textContent), "Start");
  assert.equal(await seconds(page), 0);
  await done();
});

test("a packet tells its story to the pointer and to the keyboard", { skip }, async () => {
  const { page, done } = await open();
  await page.select(".toolbar select", "4");
  await page.waitForFunction(() => parseFloat(document.querySelector(".ms").textContent) > 500);
  const scene = await page.$(".scene");
  const box = await scene.boundingBox();
  await page.mouse.click(box.x + box.width * 0.5, box.y + 55);
  const story = () => page.$eval(".story", (aside) => aside.textContent);
  await page.waitForSelector(".story");
  assert.match(await story(), /Packet \d+.*It arrived at [\d.]+ s and found/);
  assert.equal(await page.$eval("button.main", (button) => button.textContent), "Start", "the clock is paused");
  const first = await story();
  await scene.focus();
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction((before) => document.querySelector(".story").textContent !== before, {}, first);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.querySelector(".story") === null);
  await press(page, "Start");
  await page.waitForSelector(".column:first-child button[data-kind=drop]:enabled");
  await press(page, "Ask the last drop");
  await page.waitForSelector(".story");
  // The story of the command comes from the simulator.
  await page.waitForFunction(() => /It was dropped at once \(overlimit\)/.test(document.querySelector(".story").textContent));
  await page.evaluate(() => {
    [...document.querySelectorAll(".column")][1].querySelector("button[data-kind=drop]").click();
  });
  await page.waitForFunction(() => /codel: .*RFC 8289/.test(document.querySelector(".story").textContent));
  assert.ok(await page.$$eval(".story tbody tr", (rows) => rows.length) > 3);
  await done();
});

test("charts of the run open below the columns", { skip }, async () => {
  const { page, done } = await open();
  await page.click(".charts summary");
  await page.waitForSelector(".chart canvas");
  assert.equal(await page.$$eval(".chart canvas", (all) => all.length), 5);
  // The cursor in one chart is in all of them.
  await page.waitForFunction(() => parseFloat(document.querySelector(".clock").textContent) > 2);
  await press(page, "Pause");
  const chart = await page.$(".chart");
  await chart.scrollIntoView();
  const box = await chart.boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.4);
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.5);
  await page.waitForFunction(() => {
    const shown = (chart) => [...chart.querySelectorAll("div")].some((box) => /pfifo/.test(box.textContent) && getComputedStyle(box).visibility !== "hidden");
    return [...document.querySelectorAll(".chart")].filter(shown).length === 5;
  });
  await done();
});

test("a lesson ticks off what its reader has observed, and asks its question", { skip }, async () => {
  const { page, done } = await open();
  await press(page, "Why a bigger buffer does not help");
  await page.waitForSelector(".lesson");
  await page.select(".toolbar select", "16");
  await page.waitForFunction(() => document.querySelectorAll(".lesson li.done").length === 2);
  await press(page, "Do it for me");
  await page.waitForFunction(() => document.querySelector("#line-0").value === "pfifo limit 4");
  await page.waitForSelector(".question");
  assert.match(await page.$eval(".question", (box) => box.textContent), /Which buffer is right for this line\?/);
  assert.match(page.url(), /lesson=buffer/);
  await press(page, "Next: CoDel's square root");
  await page.waitForFunction(() => document.querySelector("#line-1")?.value === "codel interval 1s");
  await done();
});

test("the lesson on the modem shows the packets that wait in the modem", { skip }, async () => {
  const { page, done } = await open();
  const flat = await page.$eval(".scene", (canvas) => canvas.clientHeight);
  await press(page, "The modem behind the router");
  await page.waitForSelector(".lesson");
  await page.select(".toolbar select", "16");
  await page.waitForFunction(() => /waits behind .* in the modem/.test(document.querySelector(".sentence").textContent));
  assert.ok((await page.$eval(".scene", (canvas) => canvas.clientHeight)) > 1.4 * flat, "four pipes instead of two");
  await page.waitForSelector(".question");
  await press(page, "Pause");
  // The third pipe from above is that of the modem, to the client. Its queue may be short at this
  // moment, so the clicks go from the outlet, where its first packet is, to the inlet. A click takes
  // the nearest packet.
  const scene = await page.$(".scene");
  const { width } = await scene.boundingBox();
  for (let x = 0.33; x < 0.95 && (await page.$(".story")) === null; x += 0.005) {
    await scene.click({ offset: { x: width * x, y: 2 * (20 + 48 + 16) + 20 + 24 } });
  }
  assert.match(await page.$eval(".story", (aside) => aside.textContent), /to the (Internet|client), at the modem.*It arrived at/);
  await done();
});

test("the WiFi scenario shows the packets that wait for the air", { skip }, async () => {
  const { page, done } = await open("#builtin=wifi&q=pfifo+limit+1000&q=fq_codel");
  await page.select(".toolbar select", "4");
  await page.waitForFunction(() => /on the WiFi/.test(document.querySelector(".sentence").textContent));
  assert.equal(await page.$$eval(".scene", (all) => all.length), 2);
  await done();
});

test("the lesson on L4S shows both pings, and its steps can be done", { skip }, async () => {
  const { page, done } = await open();
  await press(page, "L4S: a queue of one millisecond");
  await page.waitForSelector(".lesson");
  await page.select(".toolbar select", "16");
  await page.waitForFunction(() => document.querySelectorAll(".lesson li.done").length === 3);
  const rows = await page.$$eval(".column:last-child .flows li", (all) => all.map((row) => row.textContent));
  assert.match(rows.join(), /CUBIC.*Mbit.*L4S.*Mbit.*L4S ping.* ms/);
  await press(page, "Do it for me");
  await page.waitForSelector(".question");
  assert.match(await page.$eval(".question", (box) => box.textContent), /ECT\(1\)/);
  await done();
});

test("every lesson opens by its address", { skip }, async () => {
  const page = await browser.newPage();
  await page.goto(`${site.address}teachers.html`);
  const links = await page.$$eval("section h2 a", (all) => all.map((link) => link.href));
  assert.equal(links.length, 8);
  await page.close();
  for (const link of links) {
    const lesson = await open(link.slice(link.indexOf("#")));
    await lesson.page.waitForSelector(".lesson li");
    await lesson.page.waitForFunction(() => parseFloat(document.querySelector(".clock").textContent) > 0.1);
    assert.equal(await lesson.page.$(".error"), null, link);
    await lesson.done();
  }
});

test("a short address opens a lesson with its line", { skip }, async () => {
  const { page, done } = await open("#lesson=l4s");
  assert.deepEqual(await page.$$eval(".line input", (all) => all.map((input) => input.value)), ["pie ecn", "dualpi2"]);
  assert.match(await page.$eval(".lesson h2", (title) => title.textContent), /Lesson 8 of 8/);
  await done();
});

test("an embedded page shows the queues and no controls", { skip }, async () => {
  const { page, done } = await open("?embed#uploads=1&downloads=0");
  assert.equal(await page.$(".controls"), null);
  assert.equal(await page.$$eval(".scene", (all) => all.length), 2);
  await done();
});

test("a rate that is changed on the way goes on from the same moment, and the link holds the change", { skip }, async () => {
  const { page, done } = await open();
  await page.waitForFunction(() => parseFloat(document.querySelector(".clock").textContent) > 1);
  const input = await page.$('input[aria-label="Rate to the Internet, as in 10mbit"]');
  await input.click({ count: 3 });
  await page.keyboard.type("300kbit");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /up=1mbit,300kbit@[\d.]+s/.test(decodeURIComponent(location.hash)));
  const since = parseFloat(decodeURIComponent(page.url()).split("@")[1]);
  await page.waitForFunction((at) => parseFloat(document.querySelector(".clock").textContent) > at + 0.2, {}, since);
  assert.ok((await seconds(page)) < since + 5);
  await done();
});

test("the parameters of a discipline come from the catalogue and change its line", { skip }, async () => {
  const { page, done } = await open();
  await page.waitForSelector(".column:last-child .parameters summary");
  await page.click(".column:last-child .parameters summary");
  assert.ok(await page.$$eval(".column:last-child .parameters label", (all) => all.length) >= 10);
  await page.evaluate(() => {
    const field = [...document.querySelectorAll(".column:last-child .parameters label")].find((label) => label.textContent.startsWith("target"));
    const input = field.querySelector("input");
    input.value = "13ms";
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
  await page.waitForFunction(() => document.querySelector("#line-1").value === "fq_codel target 13ms");
  await page.waitForFunction(() => decodeURIComponent(location.hash).includes("q=fq_codel+target+13ms"));
  await done();
});

test("the table of the run so far is that of the command", { skip }, async () => {
  const { page, done } = await open();
  await page.waitForFunction(() => parseFloat(document.querySelector(".clock").textContent) > 1);
  await press(page, "Table of the run so far");
  await page.waitForSelector(".results tbody tr");
  assert.match(await page.$eval(".results caption", (caption) => caption.textContent), /^The first [\d.]+ s, as goodqueue compare tells it/);
  assert.equal(await page.$$eval(".results tbody tr", (rows) => rows.length), 2);
  assert.equal(await page.$eval("button.main", (button) => button.textContent), "Pause", "the run goes on");
  await done();
});

test("every line of the list and every built-in scenario can be chosen", { skip }, async () => {
  const { page, done } = await open();
  await page.waitForFunction(() => document.querySelectorAll("optgroup[label='Built-in scenarios'] option").length > 10);
  const names = await page.$$eval("optgroup option", (all) => all.map((option) => option.value));
  assert.match(names.join(), /DSL.*Cable.*LTE.*Starlink.*WiFi.*Data centre.*modem/);
  for (const name of names) {
    const loads = await page.$eval(".columns", (columns) => Number(columns.dataset.loads));
    await page.evaluate((value) => {
      const select = document.querySelector("optgroup").parentElement;
      select.value = value;
      select.dispatchEvent(new Event("change", { bubbles: true }));
    }, name);
    await page.waitForFunction(
      (before) => Number(document.querySelector(".columns").dataset.loads) > before || document.querySelector(".error") !== null, {}, loads,
    );
    assert.equal(await page.$(".error"), null, name);
  }
  await done();
});

test("the run can be copied as a command, as TOML, as Python, as a link and as a line of HTML", { skip }, async () => {
  const { page, done } = await open("#up=2mbit&q=pie");
  await page.evaluate(() => {
    window.copied = [];
    Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { window.copied.push(text); } } });
  });
  for (const name of ["Copy link", "Copy command", "Copy TOML", "Copy Python", "Copy embed code"]) await press(page, name);
  const [link, command, toml, python, frame] = await page.evaluate(() => window.copied);
  assert.match(link, /#up=2mbit&q=pie/);
  assert.match(command, /^goodqueue compare --rate 10mbit --up 2mbit .*--qdisc pie/);
  assert.match(toml, /link.up = "2mbit"/);
  assert.match(python, /gq\.compare\(\n/);
  assert.match(frame, /^<iframe src="[^"]*\?embed#up=2mbit&amp;q=pie[^\n]*<\/iframe>$/);
  await done();
});

test("loss, ECN and congestion control change the run", { skip }, async () => {
  const { page, done } = await open();
  const set = (label, value) => page.evaluate((text, to) => {
    const field = [...document.querySelectorAll(".controls label")].find((one) => one.textContent.trim().startsWith(text)).querySelector("input, select");
    if (field.type === "checkbox") return field.click();
    field.value = to;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }, label, value);
  await set("Random loss", "2");
  await set("ECN");
  await set("Congestion control", "reno");
  await set("RTT", "80ms");
  await set("WiFi", "0");
  await page.waitForFunction(() => ["loss=2", "ecn=true", "cc=reno", "rtt=80ms", "wifi=0"].every((part) => location.hash.includes(part)));
  await page.waitForFunction(() => parseFloat(document.querySelector(".clock").textContent) > 0.1);
  assert.equal(await page.$(".error"), null);
  await done();
});

test("a packet per second is slow, and a sound plays pings", { skip }, async () => {
  const { page, done } = await open();
  await page.evaluate(() => {
    window.tones = 0;
    const start = OscillatorNode.prototype.start;
    OscillatorNode.prototype.start = function (...given) { window.tones += 1; return start.apply(this, given); };
  });
  await page.evaluate(() => [...document.querySelectorAll("label.check")].find((one) => one.textContent.trim() === "Sound").querySelector("input").click());
  await page.select(".toolbar select", "1");
  await page.waitForFunction(() => window.tones > 2);
  await page.select(".toolbar select", "packet");
  const before = await seconds(page);
  await new Promise((wait) => setTimeout(wait, 1500));
  // A packet of 1514 bytes takes 12 ms at 1 Mbit/s.
  assert.ok((await seconds(page)) - before < 0.3);
  await done();
});

test("a third queue can be added and removed", { skip }, async () => {
  const { page, done } = await open();
  await press(page, "Add a queue");
  await page.waitForFunction(() => document.querySelectorAll(".column").length === 3);
  await page.click('button[aria-label="Remove queue 1"]');
  await page.waitForFunction(() => document.querySelectorAll(".column").length === 2);
  assert.deepEqual(await page.$$eval(".line input", (all) => all.map((input) => input.value)), ["fq_codel", "codel"]);
  await done();
});

test("at the end of a run its results can be saved, and it starts again", { skip }, async () => {
  const { page, done } = await open("#time=1s");
  await page.select(".toolbar select", "4");
  await page.waitForSelector("a[download]");
  const json = await page.$eval("a[download]", (link) => decodeURIComponent(link.href.slice(link.href.indexOf(",") + 1)));
  assert.deepEqual(JSON.parse(json).runs.map((run) => run.qdisc), ["pfifo limit 100", "fq_codel"]);
  assert.equal(await page.$eval("button.main", (button) => button.textContent), "Start");
  assert.equal(await page.$$eval(".results tbody tr", (rows) => rows.length), 2);
  await press(page, "Start");
  await page.waitForFunction(() => document.querySelector("a[download]") === null);
  await done();
});

test("every control has a name for a screen reader", { skip }, async () => {
  const { page, done } = await open();
  const nameless = await page.$$eval("button, input, select, canvas, progress", (all) => all.filter((element) => {
    const label = element.getAttribute("aria-label") ?? element.textContent.trim() ?? "";
    return label === "" && (element.labels?.length ?? 0) === 0;
  }).map((element) => element.outerHTML));
  assert.deepEqual(nameless, []);
  await done();
});
