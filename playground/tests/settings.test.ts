// The settings of the page, its addresses and its commands.

import assert from "node:assert/strict";
import test from "node:test";
import { FIRST, command, fromHash, quoted, request, toHash, withRateFrom } from "../src/settings.ts";

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

test("a command is quoted for a shell", () => {
  assert.equal(quoted("10mbit"), "10mbit");
  assert.equal(quoted("it's"), "'it'\\''s'");
  assert.match(command(FIRST), /^goodqueue compare --rate 10mbit --up 1mbit .* --qdisc 'pfifo limit 100' --qdisc fq_codel /);
});
