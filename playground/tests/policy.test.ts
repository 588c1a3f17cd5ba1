// The content security policy of the pages.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

const { POLICY, withPolicy } = (await import(new URL("../policy.mjs", import.meta.url).href)) as {
  POLICY: string;
  withPolicy(html: string): string;
};
const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");

test("the book recommends the policy that the pages have", () => {
  const [, written = ""] = /Content-Security-Policy:([\s\S]*?)\nX-Content/.exec(read("../docs/playground.md")) ?? [];
  assert.equal(written.trim().replace(/\s+/g, " "), POLICY);
});

test("every page gets the policy before its first script, and has no script in its text", () => {
  for (const name of ["index.html", "teachers.html", "advise.html"]) {
    const page = withPolicy(read(name));
    assert.ok(page.indexOf("Content-Security-Policy") < page.indexOf("<script"), name);
    assert.doesNotMatch(page, /<script(?![^>]*\bsrc=)|\son[a-z]+=|javascript:/i, name);
  }
  assert.throws(() => withPolicy("<html></html>"), /no line for its policy/);
});
