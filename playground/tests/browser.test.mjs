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

/** Opens the page, and fails at the end if it logged an error. `isNew`: as somebody who has never seen it. */
async function open(hash = "", { width = 1280, height = 900, reducedMotion = false, isDark = false, isNew = false } = {}) {
  // Each test has a browser of its own, which remembers nothing of the others.
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([
    { name: "prefers-reduced-motion", value: reducedMotion ? "reduce" : "no-preference" },
    { name: "prefers-color-scheme", value: isDark ? "dark" : "light" },
  ]);
  await page.evaluateOnNewDocument(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  if (!isNew) await page.evaluateOnNewDocument(() => localStorage.setItem("goodqueue.guide", "seen"));
  await page.goto(`${site.address}${hash}`);
  await page.waitForSelector(hash.includes("refused") ? ".error" : ".column, .teachers h2");
  const done = async () => {
    assert.deepEqual(await page.evaluate(() => window.violations), [], "the page keeps its own policy");
    assert.deepEqual(errors, []);
    await context.close();
  };
  return { page, context, done };
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
    () => /a large buffer \(pfifo limit 100\) the ping takes \d+ ms.*per flow \(fq_codel\) lets it pass/.test(document.querySelector(".sentence").textContent),
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

test("QUIC flows of a scenario file have their names, and their packets tell their stories", { skip }, async () => {
  const flows = '[{ kind = "quic", count = 2 }, { kind = "quic_transfers", size = "20kb", think = "1s" }]';
  const text = `duration = "20s"\nqdiscs = ["pfifo limit 20"]\nlink = { down = "4mbit", up = "1mbit" }\nflows = ${flows}\n`;
  const { page, done } = await open(`#toml=${encodeURIComponent(text)}`);
  assert.deepEqual(await page.$$eval(".flows li > span", (all) => all.map((one) => one.textContent)), [
    "QUIC download 1", "QUIC download 2", "transfers over QUIC",
  ]);
  await page.waitForSelector("button[data-kind=drop]:enabled");
  await press(page, "Ask the last drop");
  await page.waitForFunction(() => /It was dropped at once \(overlimit\)/.test(document.querySelector(".story")?.textContent));
  assert.match(await page.$eval(".story", (aside) => aside.textContent), /down, QUIC datagram \d+ of flow [012]/);
  await done();
});

test("transfers over QUIC are chosen beside those over TCP", { skip }, async () => {
  const { page, done } = await open("#uploads=0&downloads=1");
  const field = (label) => page.evaluateHandle((text) =>
    [...document.querySelectorAll(".controls label")].find((one) => one.textContent.trim().startsWith(text))?.querySelector("input, select"), label);
  const set = async (label, value) => (await field(label)).evaluate((one, to) => {
    one.value = to;
    one.dispatchEvent(new Event("change", { bubbles: true }));
  }, value);
  assert.equal(await (await field("Congestion control of QUIC")).jsonValue(), undefined, "without QUIC there is nothing to choose");
  await set("QUIC downloads", "1");
  await page.waitForFunction(() => [...document.querySelectorAll(".flows li")].some((row) => row.textContent.includes("QUIC download")));
  await set("Congestion control of QUIC", "newreno");
  await page.waitForFunction(() => ["quicDownloads=1", "quicCc=newreno"].every((part) => location.hash.includes(part)));
  await page.waitForFunction(() => parseFloat(document.querySelector(".clock").textContent) > 0.1);
  assert.equal(await page.$(".error"), null);
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
  const { width } = await scene.boundingBox();
  // The queue may be short at this moment, so the clicks go from its end to its beginning.
  for (let x = 0.6; x > 0.1 && (await page.$(".story")) === null; x -= 0.01) await scene.click({ offset: { x: width * x, y: 55 } });
  const story = () => page.$eval(".story", (aside) => aside.textContent);
  await page.waitForSelector(".story");
  // A packet that has just left the queue tells it in the words of the command.
  assert.match(await story(), /Packet \d+.*(It arrived at [\d.]+ s and found|arrived at [\d.]+ s\. It found)/);
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
  assert.deepEqual(await page.$$eval(".line input", (all) => all.map((input) => input.value)), ["pie ecn", "dualpi2 variant linux"]);
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

const violations = (page) => page.evaluate(() => window.violations);

for (const path of ["", "teachers.html"]) {
  test(`${path || "the playground"} has a policy that lets no foreign or inline script run`, { skip }, async () => {
    const { page, context } = await open(path);
    const policy = await page.$eval('meta[http-equiv="Content-Security-Policy"]', (meta) => meta.content);
    assert.match(policy, /default-src 'none'; script-src 'self' 'wasm-unsafe-eval';/);
    assert.equal(await page.$$eval("script:not([src])", (all) => all.length), 0, "no script is in the page's text");
    if (path === "") {
      // What uses most of the browser: charts with their tooltips, the simulator, a story.
      await page.click(".charts summary");
      await page.waitForSelector(".chart canvas");
      await page.waitForFunction(() => parseFloat(document.querySelector(".clock").textContent) > 1);
      const chart = await page.$(".chart");
      await chart.scrollIntoView();
      const box = await chart.boundingBox();
      await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.4);
      await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.5);
      await page.waitForFunction(() => [...document.querySelectorAll(".chart div")].some((one) => /pfifo/.test(one.textContent)));
    }
    assert.deepEqual(await violations(page), []);
    await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "window.injected = 1";
      document.head.append(script);
      const frame = document.createElement("div");
      frame.innerHTML = '<img src="data:image/png;base64,AA" onerror="window.injected = 2">';
      document.body.append(frame);
    });
    await page.waitForFunction(() => window.violations.some((one) => /script-src-elem inline/.test(one)) && window.violations.some((one) => /script-src-attr inline/.test(one)));
    assert.equal(await page.evaluate(() => window.injected), undefined);
    await context.close();
  });
}

test("a link with a hundred thousand flows is refused at once, with what is allowed and what to do", { skip }, async () => {
  const toml = 'title = "refused"\nflows = [{ count = 99999 }, { kind = "ping" }]\n';
  const { page, done } = await open(`#toml=${encodeURIComponent(toml)}`);
  const error = await page.$eval(".error", (box) => box.textContent);
  assert.match(error, /100000 flows are too many to show/);
  assert.match(error, /allowed: at most 200/);
  assert.match(error, /help: lower the `count`/);
  assert.match(await page.$eval(".sentence", (one) => one.textContent), /^Nothing runs/);
  // The page is alive: the scenario can be corrected.
  await page.click(".scenario summary");
  await page.$eval(".scenario textarea", (area) => {
    area.value = area.value.replace("99999", "3");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await page.waitForSelector(".scenario button:enabled");
  await press(page, "Run this scenario");
  await page.waitForFunction(() => document.querySelectorAll(".column:first-child .flows li").length === 3);
  await done();
});

test("an impossible number of uploads in a link is told", { skip }, async () => {
  const { page, done } = await open("#uploads=100000");
  assert.match(await page.$eval(".remark", (one) => one.textContent), /100000 uploads. Allowed are 0 to 8/);
  await done();
});

/** What the page shows at some moments: the sentence, and the large number of each column by its line. */
const moments = (page, count) => page.evaluate((wanted) => new Promise((done) => {
  const seen = new Map();
  const tick = () => {
    const text = document.querySelector(".sentence").textContent;
    const numbers = [...document.querySelectorAll(".column")].map((column) => [column.querySelector(".line input").value, column.querySelector(".ms").textContent]);
    // The sentence and the numbers of a moment have both changed, or neither.
    if (numbers.every(([, shown]) => shown !== "–")) seen.set(`${text} ${numbers.join()}`, { text, numbers });
    if (seen.size < wanted) requestAnimationFrame(tick);
    else done([...seen.values()]);
  };
  requestAnimationFrame(tick);
}), count);

for (const [name, hash, speed] of [["at first sight", "", "4"], ["in the lesson on L4S", "#lesson=l4s", "1"]]) {
  test(`the sentence has the numbers that stand beside it, ${name}`, { skip }, async () => {
    const { page, done } = await open(hash);
    await page.select(".toolbar select", speed);
    let compared = 0;
    for (const { text, numbers } of await moments(page, 25)) {
      const of = (line) => numbers.find(([one]) => line === one || line.endsWith(`(${one})`))?.[1];
      const values = numbers.map(([, shown]) => parseFloat(shown));
      const [, worst, high] = /^In (.*?) the ping takes ([\d.]+ ms)/.exec(text) ?? [];
      const [, best, low] = /\. ([^.]*?) lets it pass: ([\d.]+ ms)/.exec(text) ?? [];
      if (worst === undefined) continue;
      compared += 1;
      assert.equal(of(worst), high, `${text} beside ${numbers}`);
      assert.equal(parseFloat(high), Math.max(...values), `${text} beside ${numbers}`);
      if (best === undefined) continue;
      assert.equal(of(best), low, `${text} beside ${numbers}`);
      assert.equal(parseFloat(low), Math.min(...values), `${text} beside ${numbers}`);
    }
    assert.ok(compared > 0);
    await done();
  });
}

test("after a typo nothing of the earlier run is left", { skip }, async () => {
  const { page, done } = await open();
  await page.select(".toolbar select", "4");
  await page.waitForSelector(".column:first-child button[data-kind=drop]:enabled");
  await press(page, "Table of the run so far");
  await page.waitForSelector(".results");
  await press(page, "Ask the last drop");
  await page.waitForSelector(".story");
  const type = (text) => page.$eval("#line-0", (input, value) => {
    input.value = value;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }, text);
  await type("pfifo limt 100");
  await page.waitForSelector(".error");
  await page.waitForFunction(() => document.querySelector(".sentence").textContent.startsWith("Nothing runs"));
  assert.equal(await page.$(".story"), null);
  assert.equal(await page.$(".results"), null);
  assert.deepEqual(await page.$$eval(".losses span", (all) => all.map((one) => one.textContent)), ["no drops", "no drops"]);
  assert.deepEqual(await page.$$eval(".ms", (all) => all.map((one) => one.textContent)), ["–", "–"]);
  assert.equal(await page.$$eval(".losses button:enabled", (all) => all.length), 0);
  await type("pfifo limit 100");
  await press(page, "Start");
  await page.waitForFunction(() => document.querySelector(".ms").textContent !== "–");
  await done();
});

test("no packet is drawn outside of its pipe, also in the dark", { skip }, async () => {
  const { page, done } = await open("", { isDark: true });
  await page.select(".toolbar select", "16");
  const outside = await page.evaluate(() => new Promise((done) => {
    const canvas = document.querySelector(".scene");
    // The uploads and the ping.
    const colours = [[0, 114, 178], [86, 180, 233], [240, 180, 0]];
    let [frames, found] = [0, 0];
    const tick = () => {
      // A copy, because reading the picture itself would slow down its drawing. Left and right of the first pipe.
      const [copy, right] = [document.createElement("canvas"), canvas.width - 3];
      [copy.width, copy.height] = [11, 90];
      const context = copy.getContext("2d");
      context.drawImage(canvas, 0, 0, 8, 90, 0, 0, 8, 90);
      context.drawImage(canvas, right, 0, 3, 90, 8, 0, 3, 90);
      const { data } = context.getImageData(0, 0, 11, 90);
      for (let at = 0; at < data.length; at += 4) {
        if (colours.some((colour) => colour.every((part, index) => Math.abs(part - data[at + index]) < 8))) found += 1;
      }
      frames += 1;
      const isFull = /[1-9]\d+ drop/.test(document.querySelector(".losses").textContent);
      if (isFull && frames > 20) done(found);
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }));
  assert.equal(outside, 0);
  await done();
});

test("the lesson on short flows has a row for the call and one for all short transfers", { skip }, async () => {
  const { page, done } = await open("#lesson=short");
  const rows = await page.$$eval(".column:first-child .flows li > span", (all) => all.map((row) => row.textContent));
  assert.deepEqual(rows, ["download 1", "download 2", "download 3", "download 4", "20 short downloads", "call"]);
  await done();
});

test("at first sight the page explains its words, and shows the way of the packets", { skip }, async () => {
  const { page, done } = await open();
  const words = await page.$eval(".words", (one) => one.textContent);
  assert.match(words, /Ping: a small packet that is answered at once/);
  assert.match(words, /Bufferbloat: a buffer/);
  assert.ok(await page.$(".words .diamond"));
  for (const way of await page.$$(".way")) {
    assert.equal(await way.evaluate((one) => one.textContent), "home→modem→Internet");
    const above = await way.evaluate((one) => one.getBoundingClientRect().bottom <= one.parentElement.querySelector(".scene").getBoundingClientRect().top);
    assert.ok(above, "above the pipes");
  }
  assert.deepEqual(await page.$$eval(".column h2", (all) => all.map((one) => one.textContent)), [
    "A modem with a large buffer", "A modem with a short queue per flow",
  ]);
  await done();
});

const step = (page) => page.$eval(".guide small", (one) => one.textContent);

test("a first visitor is guided, step by step and by the keyboard, and only once", { skip }, async () => {
  const { page, context, done } = await open("", { isNew: true });
  assert.equal(await step(page), "1 of 4");
  // It moves on by itself as long as the clock runs.
  await page.waitForFunction(() => document.querySelector(".guide small").textContent === "2 of 4");
  await press(page, "Pause");
  for (const next of ["3 of 4", "4 of 4"]) {
    await page.focus(".guide .main");
    await page.keyboard.press("Enter");
    await page.waitForFunction((text) => document.querySelector(".guide small").textContent === text, {}, next);
  }
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".guide") === null);
  assert.equal(await page.$eval("main", (main) => main.dataset.guide), undefined);
  const again = await context.newPage();
  await again.goto(site.address);
  await again.waitForSelector(".column");
  assert.equal(await again.$(".guide"), null, "it is remembered");
  await press(again, "Guided start");
  await again.waitForSelector(".guide");
  await again.keyboard.press("Escape");
  await again.waitForFunction(() => document.querySelector(".guide") === null);
  await done();
});

test("the guide can be skipped, does not move for those who asked for calm, and is not in links and frames", { skip }, async () => {
  const calm = await open("", { isNew: true, reducedMotion: true });
  assert.equal(await step(calm.page), "1 of 4");
  await press(calm.page, "Next");
  await calm.page.waitForFunction(() => document.querySelector(".guide small").textContent === "2 of 4");
  assert.equal(await seconds(calm.page), 0);
  await press(calm.page, "Skip");
  await calm.page.waitForFunction(() => document.querySelector(".guide") === null);
  await calm.done();
  for (const address of ["#uploads=1", "#lesson=codel", "?embed"]) {
    const other = await open(address, { isNew: true });
    assert.equal(await other.page.$(".guide"), null, address);
    await other.done();
  }
});

test("on a phone lessons come first", { skip }, async () => {
  const { page, done } = await open("", { width: 390, height: 844 });
  const top = (selector) => page.$eval(selector, (one) => one.getBoundingClientRect().top);
  assert.ok((await top(".lessons")) < (await top(".sentence")));
  assert.ok((await top(".sentence")) < (await top(".scene")));
  assert.ok((await top(".scene")) < 844, "a part of the picture is at first sight");
  await press(page, "CoDel's square root");
  await page.waitForSelector(".lesson");
  assert.ok((await top(".lesson")) < (await top(".lessons")), "in a lesson the others are at the end");
  await done();
});

for (const width of [1100, 390]) {
  test(`a frame of ${width} pixels hears how high its page is, so that no row is cut`, { skip }, async () => {
    const context = await browser.createBrowserContext();
    const page = await context.newPage();
    await page.setViewport({ width: width + 20, height: 800 });
    // Any document without a policy of its own: the playground's lets no frames in.
    await page.goto(`${site.address}style.css`);
    await page.evaluate((wide) => {
      window.heights = [];
      const frame = document.createElement("iframe");
      Object.assign(frame, { src: "./?embed", width: wide, height: 300 });
      window.addEventListener("message", ({ source, data }) => {
        if (source !== frame.contentWindow || data.type !== "goodqueue:height") return;
        window.heights.push(data.height);
        frame.height = data.height;
      });
      document.body.replaceChildren(frame);
    }, width);
    // The frame has the whole page, also after the columns have come.
    await page.waitForFunction(() => {
      const inner = document.querySelector("iframe")?.contentDocument;
      const last = inner?.querySelector(".column:last-child .losses")?.getBoundingClientRect();
      return last !== undefined && last.bottom <= Number(document.querySelector("iframe").height) && inner.documentElement.scrollHeight <= inner.defaultView.innerHeight;
    });
    const told = await page.evaluate(() => window.heights.length);
    await page.evaluate(() => document.querySelector("iframe").contentWindow.postMessage({ type: "goodqueue:height?" }, "*"));
    await page.waitForFunction((before) => window.heights.length > before, {}, told);
    await context.close();
  });
}
