// The settings of the page, its addresses and its commands.

import assert from "node:assert/strict";
import test from "node:test";
import { FIRST, command, file, fromHash, python, quoted, request, toHash, withRateFrom } from "../src/settings.ts";

test("an address holds all settings", () => {
  const settings = {
    ...FIRST, up: "1mbit,300kbit@2.5s", rtt: "20ms", uploads: 0, downloads: 3, cc: "bbr", ecn: true, loss: "0.5", ping: "1ms",
    time: "10s", seed: "7", qdiscs: ["cake bandwidth 900kbit", "fq_codel target 13ms"],
  };
  const hash = toHash(settings, "0.1.0");
  assert.deepEqual(fromHash(hash), settings);
  assert.match(hash, /v=0\.1\.0/);
});

test("the settings of the first sight need no address", () => {
  assert.equal(toHash(FIRST, "0.1.0"), "");
  assert.deepEqual(fromHash(""), FIRST);
});

test("an address with impossible values is read as far as it makes sense", () => {
  const read = fromHash("#uploads=-3&downloads=many&rtt=20ms&surprise=1");
  assert.deepEqual(read, { ...FIRST, rtt: "20ms" });
});

test("an address with a built-in scenario keeps that scenario's disciplines", () => {
  const read = fromHash("#builtin=ecn");
  assert.deepEqual(request(read), { builtin: "ecn", qdiscs: [], set: [] });
  assert.equal(command(read), "goodqueue compare ecn");
});

test("a rate that changes on the way becomes a schedule", () => {
  const once = withRateFrom("10mbit", 2.5, "2mbit");
  assert.equal(once, "10mbit,2mbit@2.5s");
  assert.equal(withRateFrom(once, 4, "5mbit"), "10mbit,2mbit@2.5s,5mbit@4s");
  assert.equal(withRateFrom(once, 1, "5mbit"), "10mbit,5mbit@1s", "a later step is dropped");
  assert.equal(withRateFrom(once, 0, "5mbit"), "5mbit");
  const asked = request({ ...FIRST, down: once });
  assert.ok(asked.set.includes('link.down={schedule=[["0s","10mbit"],["2.5s","2mbit"]]}'));
  assert.equal(asked.rate, undefined);
});

test("a scenario file and a program have the settings of the command", () => {
  const settings = { ...FIRST, up: "1mbit,300kbit@2s", downloads: 0, ecn: true, loss: "1" };
  assert.equal(file(settings), [
    "# goodqueue compare FILE.toml", 'duration = "60s"', "seed = 1", 'qdiscs = ["pfifo limit 100","fq_codel"]',
    'link.down = "10mbit"', 'link.rtt = "50ms"', 'link.up = {schedule=[["0s","1mbit"],["2s","300kbit"]]}',
    'flows = [{kind="tcp",direction="up",count=2,start_jitter="100ms"},{kind="ping"}]', 'tcp.cc = "cubic"', "tcp.ecn = true",
    'hops = [{name="path",side="server",qdisc="netem loss 1%"}]', "",
  ].join("\n"));
  assert.match(python(settings), /seed=1,\n {4}qdiscs=\["pfifo limit 100","fq_codel"\],\n {4}set=\{"link.up": .*"tcp.ecn": True/);
  assert.equal(file({ ...FIRST, builtin: "ecn" }), null);
  assert.match(python(fromHash("#builtin=ecn")), /gq\.compare\(\n {4}"ecn",\n\)/);
});

test("a command is quoted for a shell", () => {
  assert.equal(quoted("10mbit"), "10mbit");
  assert.equal(quoted("it's"), "'it'\\''s'");
  assert.match(command(FIRST), /^goodqueue compare --rate 10mbit --up 1mbit .* --qdisc 'pfifo limit 100' --qdisc fq_codel /);
});
