// The site's own rules, without building it.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, writeFileSync, chmodSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";

import { book } from "../.vitepress/book.mjs";
import { MOVED, advisePage, movedPage } from "../advise.mjs";
import { withOutputs } from "../blocks.mjs";
import { REPOSITORY, bookPage, wide, withSiteLinks, withoutItemLinks } from "../links.mjs";
import { withNavigation } from "../navigation.mjs";

test("links between pages stay on the site, others lead to the repository", () => {
  const links = (text) => withSiteLinks(text, "docs");
  assert.equal(links("[a](concepts.md#grade)"), "[a](/concepts#grade)");
  assert.equal(links("[a](README.md)"), "[a](/book)");
  assert.equal(links("[a](advise.md#wifi)"), "[a](/advice#wifi)");
  assert.equal(links("[a](../crates/goodqueue)"), `[a](${REPOSITORY}/blob/main/crates/goodqueue)`);
  assert.equal(links("![a](images/gallery-1.png)"), "![a](./images/gallery-1.png)");
  assert.equal(links("[a](https://example.org/) [b](#here)"), "[a](https://example.org/) [b](#here)");
  assert.equal(withoutItemLinks("[`CodelVars`], [`run`](crate::run) and [text](page)"), "`CodelVars`, `run` and [text](page)");
});

test("the output of a command stands below its block, and a failing command stops the build", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "goodqueue-site-test-"));
  const command = path.join(folder, "goodqueue");
  writeFileSync(command, '#!/bin/sh\nif [ "$2" = bad ]; then echo "error: bad" >&2; exit 2; fi\necho "printed $*"; ls\n');
  chmodSync(command, 0o755);
  const page = "```toml\n# home.toml\nseeds = 1\n```\n\n```sh\ngoodqueue run home.toml   # a remark\n```\n";
  const shown = withOutputs(page, command, folder);
  assert.match(shown, /printed run home\.toml\n/);
  assert.match(shown, /^home\.toml$/m);
  const other = "```sh\nmake install\ngoodqueue shell -- true\n```\n";
  assert.equal(withOutputs(other, command, folder), other);
  assert.throws(() => withOutputs("```sh\ngoodqueue run bad\n```\n", command, folder), /a command of the book fails: goodqueue run bad\nerror: bad/);
});

test("a report leads back to the site, by links that also work in a folder of the host", () => {
  const report = withNavigation("<!doctype html>\n<html>\n<style></style>\n<body class=\"x\">\n<h1>Papers</h1>\n</body>\n</html>\n", "../");
  assert.match(report, /<body class="x">\n<nav aria-label="Site"><p>← <a href="\.\.\/index\.html">goodqueue<\/a> · <a href="\.\.\/papers\.html">Papers<\/a>/);
  assert.doesNotMatch(report.match(/<nav[^]*<\/nav>/)[0], /style=|<script/, "the report's policy allows neither");
  assert.throws(() => withNavigation("<p>", "./"), /no <body>/);
});

test("the page that asks for a line has the address /advise/, and its old address leads there with the question", () => {
  const read = (file) => readFileSync(path.join(import.meta.dirname, "../..", file), "utf8");
  const page = advisePage(read("playground/advise.html"));
  assert.deepEqual(page.match(/"[^"]*(style\.css|advise\.js)"/g), ['"../playground/style.css"', '"../playground/advise.js"']);
  assert.throws(() => advisePage('<script src="advise.js"></script>'), /other files/);
  const to = [];
  new Function("location", MOVED)({ search: "", hash: "#down=100&up=10&link=cable", replace: (address) => to.push(address) });
  assert.deepEqual(to, ["../advise/#down=100&up=10&link=cable"]);
  assert.match(movedPage("moved.js"), /<script src="moved\.js">[^]*<a href="\.\.\/advise\/">/, "with a link for those without scripts");
  for (const file of ["site/home.md", "site/.vitepress/config.mjs"]) {
    assert.ok(read(file).includes("/advise/index.html") && !read(file).includes("playground/advise.html"), file);
  }
});

test("pages with diagrams and wide tables take the whole width", () => {
  assert.equal(wide("# pie\n"), "---\npageClass: wide\naside: false\n---\n\n# pie\n");
});

test("the front page begins with one sentence on what goodqueue is, and the playground in a frame that grows", () => {
  const read = (file) => readFileSync(path.join(import.meta.dirname, "..", file), "utf8");
  const [, first] = read("home.md").match(/# goodqueue\n\n([^]*?)\n\n/);
  assert.match(first, /^goodqueue shows what a queue discipline does to [^.]*\.$/, "one sentence");
  assert.match(read("home.md"), /^<Playground \/>$/m);
  assert.match(read(".vitepress/theme/playground.mjs"), /withBase\("\/playground\/index\.html\?embed"\)/);
});

test("every page of the book is in the menu", () => {
  const pages = readdirSync(path.join(import.meta.dirname, "../../docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => bookPage(path.basename(name, ".md")));
  const menu = new Set(book.flatMap((part) => part.items.map((item) => item.link)));
  assert.deepEqual(pages.filter((page) => !menu.has(page)), []);
  assert.ok(readFileSync(path.join(import.meta.dirname, "../home.md"), "utf8").includes("/playground/index.html"));
});

test("the site has the colours of the other pages", () => {
  const read = (file) => readFileSync(path.join(import.meta.dirname, "../..", file), "utf8");
  const look = read("crates/goodqueue-report/assets/look.css");
  const theme = read("site/.vitepress/theme/style.css");
  const pairs = [["bg", "paper"], ["text-1", "ink"], ["text-2", "soft"], ["divider", "line"], ["brand-1", "link"]];
  for (const [theirs, ours] of pairs) {
    // The first is the light one, the second the dark one.
    const values = (text, name) => [...text.matchAll(new RegExp(`${name}: (#[0-9a-f]{6})`, "g"))].map((match) => match[1]).slice(0, 2);
    assert.deepEqual(values(theme, `--vp-c-${theirs}`), values(look, `--${ours}`), ours);
  }
});

test("the lock file has every package of every platform, without which npm installs nothing", () => {
  const { packages } = JSON.parse(readFileSync(path.join(import.meta.dirname, "../package-lock.json"), "utf8"));
  const known = Object.keys(packages);
  for (const [name, { optionalDependencies = {} }] of Object.entries(packages)) {
    for (const needed of Object.keys(optionalDependencies)) {
      assert.ok(known.some((known) => known.endsWith(`node_modules/${needed}`)), `${name} needs ${needed}`);
    }
  }
});
