// The page's numbers are those of the command, to the last byte.

import assert from "node:assert/strict";
import test from "node:test";
import { inPage, native, wasm } from "./module.mjs";

const catalogue = JSON.parse(wasm.catalogue());

/** Results to compare: those of the built-in scenarios, and of drawn ones up to this number. */
const COUNT = 100;

/** Draws whole numbers below a bound, always the same ones. */
function draws(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function drawn(seed) {
  const draw = draws(seed);
  const one = (list) => list[draw(list.length)];
  const kinds = catalogue.qdiscs.map((qdisc) => qdisc.name);
  const group = (direction) =>
    `{kind="tcp",direction="${direction}",count=${1 + draw(3)},cc="${one(catalogue.tcps).name}",start_jitter="100ms"}`;
  const sources = [
    '{kind="voip"}', '{kind="poisson",rate="300kbit"}', '{kind="web",page="google"}', '{kind="onoff",rate="200kbit"}',
    '{kind="transfers",size={exponential="30kb"},think={exponential="200ms"}}',
    '{kind="quic",ecn=true}', '{kind="quic",direction="up",cc="newreno",count=2}',
    '{kind="quic_transfers",size={exponential="30kb"},think={exponential="200ms"}}',
    '{kind="video",ladder=["200kbit","800kbit"]}', '{kind="packmime",connections=5}',
  ];
  const set = [`flows=[${group("up")},${group("down")},${one(sources)},{kind="ping"}]`];
  if (draw(2) === 0) set.push("tcp.ecn=true");
  if (draw(3) === 0) set.push('hops=[{side="server",qdisc="netem loss 1% delay 3ms 1ms"}]');
  const schedule = '{schedule=[["0s","8mbit"],["1s","1mbit"],["2s","5mbit"]]}';
  if (draw(4) === 0) set.push(`link.down=${schedule}`);
  else set.push(`link.down="${1 + draw(30)}mbit"`);
  return {
    up: `${300 + draw(5000)}kbit`,
    rtt: `${5 + draw(150)}ms`,
    time: `${2 + draw(3)}s`,
    seed: String(1 + draw(1000)),
    // Some disciplines need a rate or classes: then both refuse with the same words.
    qdiscs: [one(kinds), one(["pfifo limit 100", "fq_codel", "cake bandwidth 2mbit", "codel", "pie"])],
    set,
  };
}

test("a run in the page has the bytes of the command", { timeout: 300_000 }, async (context) => {
  const builtin = catalogue.scenarios.map(({ name }) => ({ builtin: name, time: "3s", qdiscs: ["pfifo limit 60", "fq_codel"], set: [] }));
  let [equal, refused] = [0, 0];
  for (let index = 0; equal < COUNT; index += 1) {
    const request = builtin[index] ?? drawn(index + 1 - builtin.length);
    const [here, there] = [inPage(request), await native(request)];
    const name = JSON.stringify(request);
    assert.equal(here.message, there.message, name);
    if (here.json !== there.json) assert.fail(`${name}: ${difference(here.json, there.json)}`);
    if (here.json === undefined) refused += 1;
    else equal += 1;
    assert.ok(refused < COUNT / 4, `${refused} scenarios were refused, the last one with: ${here.message}`);
  }
  context.diagnostic(`${equal} results and ${refused} refusals are equal`);
});

function difference(here, there) {
  const [mine, theirs] = [here.split("\n"), there.split("\n")];
  const at = mine.findIndex((line, index) => line !== theirs[index]);
  return `line ${at + 1}: ${mine[at]} and ${theirs[at]}`;
}

test("a show that is played in steps has the bytes of the command", async () => {
  const request = { rate: "10mbit", up: "1mbit", rtt: "50ms", time: "4s", qdiscs: ["pfifo limit 100", "fq_codel"], set: [] };
  const show = new wasm.Show(JSON.stringify(request));
  for (let to = 0; !show.is_over(); to += 16.7e6) show.advance(to);
  assert.equal(show.finish(), (await native(request)).json);
});

test("no clock and no random number of the page changes a run with QUIC", async () => {
  const flows = ["cubic", "newreno"].map((cc) =>
    `{kind="quic",cc="${cc}"},{kind="quic",cc="${cc}",direction="up",ecn=true},{kind="quic_transfers",cc="${cc}",size="20kb",think="300ms"}`);
  const request = { rate: "10mbit", up: "2mbit", rtt: "40ms", time: "20s", qdiscs: ["pfifo limit 100", "fq_codel"], set: [`flows=[${flows},{kind="ping"}]`] };
  const { json } = await native(request);
  assert.equal(inPage(request).json, json);
  const { mock } = test;
  // A clock that jumps by hours, also backwards, and another date.
  const times = [1e9, 0.4, 5e7 + 1 / 3];
  const clock = mock.method(performance, "now", () => times[clock.mock.callCount() % times.length]);
  const date = mock.method(Date, "now", () => 1e12 + 1e9 * date.mock.callCount());
  const random = mock.method(crypto, "getRandomValues", (bytes) => bytes.fill(random.mock.callCount()));
  const again = inPage(request).json;
  assert.ok(clock.mock.callCount() > 0, "the module reads the clock");
  mock.restoreAll();
  assert.equal(again, json);
});

test("a scenario with QUIC that the command refuses has the same message in the page", async () => {
  for (const flow of ['{kind="quic",cc="bbr"}', '{kind="quic",rwnd=5}', '{kind="quic_transfers",size="20kb"}']) {
    const request = { qdiscs: ["fq_codel"], set: [`flows=[${flow}]`] };
    const { message } = inPage(request);
    assert.ok(message.length > 20, message);
    assert.equal(message, (await native(request)).message);
  }
});

test("a line that the command refuses has the same message in the page", async () => {
  for (const line of ["fq_codel targe 3ms", "pfifo limit -1", "nothing", "fq_codel target 3 interval"]) {
    const request = { qdiscs: [line], set: [] };
    const message = inPage(request).message;
    assert.ok(message.length > 20, message);
    assert.equal(message, (await native(request)).message);
  }
});

test("every built-in scenario opens with its own disciplines", () => {
  for (const { name } of catalogue.scenarios) {
    const show = new wasm.Show(JSON.stringify({ builtin: name, qdiscs: [], set: [] }));
    const about = JSON.parse(show.about());
    show.advance(200e6);
    assert.ok(about.columns.length >= 1 && about.flows.length > 1, name);
    assert.equal(show.flows(0).length, 5 * about.flows.length, name);
    show.free();
  }
});
