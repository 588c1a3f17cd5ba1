// Every preset runs, and all its forms make the same runs.

import assert from "node:assert/strict";
import test from "node:test";
import { PRESETS, presetOf, settingsOf } from "../src/presets.ts";
import { file, fromHash, request, toHash } from "../src/settings.ts";

// The module runs outside of the bundle, which would change its addresses.
const { wasm } = (await import(new URL("../tests/module.mjs", import.meta.url).href)) as {
  wasm: { simulate(request: string): string };
};

for (const preset of PRESETS) {
  test(`${preset.name}: its address, its request and its file make the same runs`, () => {
    const settings = settingsOf(preset);
    assert.deepEqual(fromHash(toHash(settings, "0")), settings);
    assert.equal(presetOf(settings), preset);
    // The first 200 ms of each show that everything is read.
    const short = { ...settings, time: "200ms" };
    const asked = JSON.parse(wasm.simulate(JSON.stringify(request(short))));
    const read = JSON.parse(wasm.simulate(JSON.stringify({ toml: file(short), qdiscs: [], set: [] })));
    assert.deepEqual(read.runs, asked.runs);
    assert.equal(asked.runs.length, settings.qdiscs.length);
  });
}
