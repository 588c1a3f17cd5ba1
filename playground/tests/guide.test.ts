// The guided start.

import assert from "node:assert/strict";
import test from "node:test";
import { GUIDE, STEP } from "../src/guide.tsx";

test("the guide takes 20 seconds and explains what a first visitor sees", () => {
  assert.equal(GUIDE.length * STEP, 20_000);
  const said = GUIDE.map(({ say }) => say).join(" ");
  for (const word of ["modem", "Internet", "diamond", "ping", "bufferbloat", "lesson"]) assert.ok(said.includes(word), word);
});
