// Speed of the simulator in the module beside the native one, size of the page, and frames per
// second in a browser without a window. Prints, and asserts nothing, because machines differ.
//
// Usage: node bench.mjs NATIVE, where NATIVE is the example `native` of goodqueue-wasm. ROUNDS=3 is
// a third of it.

import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { wasm } from "./tests/module.mjs";
import { browserPath, launch, serve } from "./tests/site.mjs";

const native = process.argv[2];
const ROUNDS = Number(process.env.ROUNDS ?? 9);

/** A line with this rate each way and this number of transfers each way. */
function request(rate, flows, time, qdisc) {
  return JSON.stringify({ rate, up: rate, rtt: "50ms", flows: String(flows), time, qdiscs: [qdisc], set: [] });
}

function inModule(asked) {
  const begun = performance.now();
  const results = JSON.parse(wasm.simulate(asked));
  const spent = (performance.now() - begun) / 1000;
  return results.runs.reduce((sum, run) => sum + run.engine.bottleneck_packets, 0) / spent;
}

function outside(asked) {
  const [packets, spent] = execFileSync(native, [asked], { encoding: "utf8" }).split(" ").map(Number);
  return packets / spent;
}

function median(values) {
  return values.toSorted((one, other) => one - other)[(values.length - 1) / 2];
}

console.log(`${"simulation".padEnd(44)} ${"module".padStart(10)} ${"native".padStart(10)}  packets/s; medians of ${ROUNDS} rounds`);
for (const [rate, flows, time] of [["10mbit", 4, "60s"], ["100mbit", 4, "20s"], ["1gbit", 4, "2s"]]) {
  for (const qdisc of ["pfifo", "codel", "fq_codel"]) {
    const asked = request(rate, flows, time, qdisc);
    inModule(asked);
    // Side by side, because the speed of a busy machine changes from second to second.
    const rounds = Array.from({ length: ROUNDS }, () => [inModule(asked), outside(asked)]);
    const [here, there] = [0, 1].map((side) => median(rounds.map((round) => round[side])));
    const share = median(rounds.map(([one, other]) => one / other));
    const name = `${2 * flows} CUBIC, ${qdisc}, ${rate}, ${time}`;
    console.log(`${name.padEnd(44)} ${here.toFixed(0).padStart(10)} ${there.toFixed(0).padStart(10)}  ${(100 * share).toFixed(0)} %`);
  }
}

console.log(`\n${"file".padEnd(28)} ${"bytes".padStart(9)} ${"gzip".padStart(9)} ${"brotli".padStart(9)}`);
for (const name of readdirSync(new URL("dist", import.meta.url)).filter((name) => /\.(js|wasm|css|html)$/.test(name))) {
  const bytes = readFileSync(new URL(`dist/${name}`, import.meta.url));
  const sizes = [bytes.length, gzipSync(bytes, { level: 9 }).length, brotliCompressSync(bytes).length];
  console.log(`${name.padEnd(28)} ${sizes.map((size) => String(size).padStart(9)).join(" ")}`);
}

if (browserPath() === null) {
  console.log("\nframes per second: SKIPPED: Chromium is not installed");
} else {
  const site = await serve(new URL("dist", import.meta.url).pathname);
  const browser = await launch();
  const root = await browser.target().createCDPSession();
  /** CPU time in seconds of the browser's processes: the page with its worker, and all of them. */
  const processor = async () => {
    const { processInfo } = await root.send("SystemInfo.getProcessInfo");
    const sum = (all) => all.reduce((time, { cpuTime }) => time + cpuTime, 0);
    return [sum(processInfo.filter(({ type }) => type === "renderer")), sum(processInfo)];
  };
  const heads = [["first", 8], ["frames/s", 9], ["worst frame", 12], ["CPU/frame: page", 16], ["all", 9]];
  console.log(`\n${"in the browser, real time".padEnd(44)} ${heads.map(([head, width]) => head.padStart(width)).join(" ")}`);
  for (const [name, hash] of [
    ["10/1 Mbit/s, 3 flows", ""],
    ["100 Mbit/s, 8 flows", "#down=100mbit&up=100mbit&rtt=20ms&downloads=4&uploads=4&q=pfifo+limit+500&q=fq_codel"],
  ]) {
    const page = await browser.newPage();
    await page.setViewport({ width: 1280, height: 900 });
    const begun = performance.now();
    await page.goto(site.address + hash);
    await page.waitForFunction(() => parseFloat(document.querySelector(".clock")?.textContent ?? "0") > 0);
    const first = performance.now() - begun;
    await page.select(".toolbar select", "1");
    const before = await processor();
    const { count, frames, worst } = await page.evaluate(() => new Promise((done) => {
      const times = [];
      const tick = (time) => {
        times.push(time);
        if (time - times[0] < 5000) requestAnimationFrame(tick);
        else done({ count: times.length - 1, frames: ((times.length - 1) * 1000) / (time - times[0]), worst: Math.max(...times.slice(1).map((at, index) => at - times[index])) });
      };
      requestAnimationFrame(tick);
    }));
    const after = await processor();
    const [own, all] = after.map((time, index) => `${((1000 * (time - before[index])) / count).toFixed(1)} ms`);
    const cells = [`${first.toFixed(0)} ms`, frames.toFixed(1), `${worst.toFixed(0)} ms`, own, all];
    console.log(`${name.padEnd(44)} ${cells.map((cell, index) => cell.padStart(heads[index][1])).join(" ")}`);
    await page.close();
  }
  await browser.close();
  site.close();
}
