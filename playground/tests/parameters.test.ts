// The fields of a discipline's parameters change its line as a user would.

import assert from "node:assert/strict";
import test from "node:test";
import { kindOf, valueIn, withValue, wordsOf } from "../src/parameters.tsx";
import type { Catalogue } from "../src/protocol.ts";

const { wasm, inPage } = (await import(new URL("../tests/module.mjs", import.meta.url).href)) as {
  wasm: { catalogue(): string };
  inPage(request: object): { json?: string; message?: string };
};
const catalogue = JSON.parse(wasm.catalogue()) as Catalogue;
const parameter = (kind: string, name: string) => {
  const found = catalogue.qdiscs.find((qdisc) => qdisc.name === kind)?.parameters.find((one) => one.name === name);
  assert.ok(found !== undefined, `${kind} ${name}`);
  return found;
};

test("a value is set, read, changed and removed", () => {
  const target = parameter("fq_codel", "target");
  const once = withValue("fq_codel limit 100", target, "3ms");
  assert.equal(once, "fq_codel limit 100 target 3ms");
  assert.equal(valueIn(once, target), "3ms");
  assert.equal(withValue(once, target, "9ms"), "fq_codel limit 100 target 9ms");
  assert.equal(withValue(once, target, ""), "fq_codel limit 100");
  assert.equal(withValue("tbf rate 1mbit [ fq_codel target 3ms ]", parameter("tbf", "burst"), "3028"), "tbf rate 1mbit burst 3028 [ fq_codel target 3ms ]");
});

test("a word is set and removed", () => {
  const ecn = parameter("fq_codel", "ecn");
  assert.equal(withValue("fq_codel", ecn, "noecn"), "fq_codel noecn");
  assert.equal(valueIn("fq_codel noecn", ecn), "noecn");
  assert.equal(withValue("fq_codel noecn target 3ms", ecn, ""), "fq_codel target 3ms");
  assert.equal(withValue("pie", parameter("pie", "ecn"), "ecn"), "pie ecn");
});

test("a line with a discipline for each direction has no fields", () => {
  assert.equal(kindOf("codel / pie", catalogue), undefined);
  assert.equal(kindOf("codel target 3ms", catalogue)?.name, "codel");
});

test("every word that a field offers is one that the command reads", () => {
  for (const { name, parameters } of catalogue.qdiscs) {
    for (const one of parameters) {
      for (const word of wordsOf(one) ?? []) {
        const line = withValue(name, one, word);
        const { message = "" } = inPage({ qdiscs: [line], time: "10ms", set: ["flows=[{kind='ping'}]"] });
        assert.doesNotMatch(message, /has no parameter|is not a value/, line);
      }
    }
  }
});
