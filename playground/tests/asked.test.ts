import assert from "node:assert/strict";
import test from "node:test";
import { command, fromHash, missing, question, toHash } from "../src/asked.ts";

const LINE = { down: "100", up: "10", link: "cable", idle: "", loaded: "" };

test("the address holds the question", () => {
  const measured = { ...LINE, idle: "20", loaded: "310" };
  assert.deepEqual(fromHash(toHash(measured)), measured);
  assert.equal(toHash(LINE), "#down=100&up=10&link=cable");
});

test("the address cannot bring anything but numbers and a name", () => {
  const none = { down: "", up: "", link: "", idle: "", loaded: "" };
  assert.deepEqual(fromHash("#down=1e9&up=-3&link=<b>&idle=;&loaded=1000000000"), none);
});

test("a question is in the words of the command", () => {
  assert.deepEqual(question({ ...LINE, idle: "20", loaded: "310" }), { link: "cable", rates: "100mbit/10mbit", ping: "20ms,310ms" });
  assert.equal(command(LINE, null), "goodqueue advise 100mbit/10mbit --link cable");
});

test("a question is complete with a kind and both rates, or a file", () => {
  assert.equal(missing(LINE, false), null);
  assert.match(missing({ ...LINE, link: "" }, false) ?? "", /kind/);
  assert.match(missing({ ...LINE, up: "" }, false) ?? "", /both rates/);
  assert.equal(missing({ ...LINE, up: "" }, true), null);
  assert.match(missing({ ...LINE, idle: "20" }, false) ?? "", /both pings/);
});
