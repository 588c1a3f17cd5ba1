// The advice in the page is that of the command, to the last byte.

import assert from "node:assert/strict";
import test from "node:test";
import { advisedByCommand, wasm } from "./module.mjs";

const KINDS = ["adsl", "vdsl", "cable", "fibre", "lte", "leo", "satellite", "wifi", "wifi-fq"];

/** Twenty lines: every kind, slow enough for a test. */
const LINES = Array.from({ length: 20 }, (_, index) => {
  const link = KINDS[index % KINDS.length];
  const down = 1 + (index % 4);
  const asked = { link, rates: `${down}mbit/${index % 3 === 0 ? 1 : 2}mbit`, seeds: 1 };
  // The buffers then follow from the pings.
  if (index === 11) asked.ping = "30ms,400ms";
  return asked;
});

test("advice in the page has the bytes of the command", { timeout: 900_000 }, async () => {
  for (const asked of LINES) {
    let [firsts, came, page] = [0, 0, ""];
    const here = wasm.advise(JSON.stringify(asked), "", new Uint8Array(), (text) => {
      assert.ok(JSON.parse(text).latency_s.length === 2);
      firsts += 1;
    }, (fraction) => { assert.ok(fraction >= came && fraction <= 1); came = fraction; }, (html) => { page = html; });
    assert.equal(firsts, 1);
    assert.match(page, /What happens today/);
    assert.ok(here === await advisedByCommand(asked), JSON.stringify(asked));
  }
});

test("a question that the command refuses has the same words in the page", () => {
  const refused = (asked) => {
    try {
      wasm.advise(JSON.stringify(asked), "", new Uint8Array(), () => undefined, () => undefined, () => undefined);
    } catch (error) {
      return error.message;
    }
    return null;
  };
  assert.match(refused({ link: "cabel", rates: "10mbit/1mbit" }), /did you mean `cable`/);
  assert.match(refused({ link: "cable", rates: "10mbit/1kbit" }), /128 kbit\/s to 2.5 Gbit\/s/);
  assert.match(refused({ link: "cable" }), /the rates of the line are missing/);
  assert.match(refused({ link: "cable", rates: "10mbit/1mbit", ping: "30ms" }), /IDLE,LOADED/);
});
