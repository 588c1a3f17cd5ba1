// Writes the pages of the site into content/: the book with the output of its commands, a page for
// each discipline, the papers with their claims and reports, and everything that is built elsewhere.

import { execFileSync, spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import os from "node:os";
import path from "node:path";

import { MOVED, advisePage, movedPage } from "./advise.mjs";
import { withOutputs } from "./blocks.mjs";
import { bookPage, wide, withSiteLinks, withoutItemLinks } from "./links.mjs";
import { withNavigation } from "./navigation.mjs";

const root = path.resolve(import.meta.dirname, "..");
const goodqueue = path.resolve(process.env.GOODQUEUE ?? `${root}/target/release/goodqueue`);
const papers = (process.env.PAPERS ?? "jk gong nj gbw").split(/\s+/).filter(Boolean);
const content = path.join(import.meta.dirname, "content");

if (!existsSync(goodqueue)) {
  console.error(`${goodqueue} is not there: run make build, or set GOODQUEUE to the command.`);
  process.exit(1);
}
await rm(content, { recursive: true, force: true });
await mkdir(path.join(content, "public"), { recursive: true });

await book();
await disciplines();
await paperPages();
await exampleReport();
await cp(path.join(import.meta.dirname, "home.md"), path.join(content, "index.md"));
await elsewhere("playground", path.join(root, "playground/dist"), "make playground");
await adviceForALine();
await elsewhere("rustdoc", path.join(process.env.CARGO_TARGET_DIR ?? `${root}/target`, "doc"), "make docs");

async function book() {
  const docs = path.join(root, "docs");
  for (const file of (await readdir(docs)).filter((name) => name.endsWith(".md"))) {
    const page = bookPage(path.basename(file, ".md"));
    const folder = await mkdtemp(path.join(os.tmpdir(), "goodqueue-site-"));
    const text = withOutputs(await readFile(path.join(docs, file), "utf8"), goodqueue, folder);
    await rm(folder, { recursive: true });
    await writeFile(path.join(content, `${page}.md`), withSiteLinks(text, "docs"));
  }
  await cp(path.join(docs, "images"), path.join(content, "images"), { recursive: true });
  const python = await readFile(path.join(root, "python/README.md"), "utf8");
  await writeFile(path.join(content, "python.md"), withSiteLinks(python, "python"));
}

async function disciplines() {
  await mkdir(path.join(content, "disciplines"));
  const all = JSON.parse(execFileSync(goodqueue, ["list", "qdiscs", "--json", "-"], { encoding: "utf8", maxBuffer: 1 << 26 }));
  const rows = [];
  for (const { name, summary } of all) {
    const page = spawnSync(goodqueue, ["explain", name], { encoding: "utf8", maxBuffer: 1 << 26 });
    // A preset has no page of its own.
    if (page.status !== 0) continue;
    // The headings of a page are below its title.
    const text = page.stdout.replace(/^# /gm, "## ");
    await writeFile(path.join(content, "disciplines", `${name}.md`), wide(`# ${name}\n\n${withoutItemLinks(text)}`));
    rows.push(`| [${name}](/disciplines/${name}) | ${summary} |`);
  }
  const table = `| discipline | what it does |\n|---|---|\n${rows.join("\n")}\n`;
  await writeFile(path.join(content, "disciplines", "index.md"), `# The disciplines\n\n${table}`);
}

/** Returns the folders of papers. */
async function folders(folder) {
  return (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isDirectory());
}

async function paperPages() {
  const folder = path.join(root, "crates/goodqueue-papers/papers");
  const audit = await readFile(path.join(folder, "AUDIT.md"), "utf8");
  await writeFile(path.join(content, "audit.md"), wide(withSiteLinks(audit, "crates/goodqueue-papers/papers")));
  for (const { name } of await folders(folder)) {
    const claims = await readFile(path.join(folder, name, "CLAIMS.md"), "utf8");
    // Its list of contents is at the top, where others have it beside the text.
    const withContents = claims.replace(/^(# .*\n)/, "$1\n[[toc]]\n");
    await writeFile(path.join(content, `claims-${name}.md`), wide(withSiteLinks(withContents, `crates/goodqueue-papers/papers/${name}`)));
  }
  const out = path.join(content, "public", "papers");
  await mkdir(out);
  // The results stay, so that the next build of the same command is quick.
  const work = path.join(os.tmpdir(), "goodqueue-site-papers");
  await mkdir(work, { recursive: true });
  const rows = [];
  for (const paper of papers) {
    // Short names: the report shows the command.
    const run = spawnSync(goodqueue, ["reproduce", paper, "--quick", "--report", `${paper}.html`], {
      cwd: work, encoding: "utf8", maxBuffer: 1 << 28,
    });
    // A claim that is not reproduced is a result: the exit code is 1.
    if (run.status !== 0 && run.status !== 1) throw new Error(`reproduce ${paper} fails: ${run.stderr}`);
    const report = await readFile(path.join(work, `${paper}.html`), "utf8");
    await writeFile(path.join(out, `${paper}.html`), withNavigation(report, "../"));
    const title = (await readFile(path.join(folder, paper, "README.md"), "utf8")).match(/^# (.*)$/m)?.[1] ?? paper;
    rows.push(`* [${title}](/papers/${paper}.html){target="_self"}`);
  }
  const text = [
    "# The papers",
    "",
    "`goodqueue reproduce` runs the experiments of these papers and compares each claim with the result. The reports below",
    "have the repetitions of [the audit](/audit) of every claim.",
    "",
    ...rows,
    "",
  ].join("\n");
  await writeFile(path.join(content, "papers.md"), text);
}

/** The report of the first command of the book, which opens in the playground. */
async function exampleReport() {
  const folder = await mkdtemp(path.join(os.tmpdir(), "goodqueue-site-"));
  execFileSync(goodqueue, ["compare", "--report", "report.html", "--playground", "./playground/index.html"], { cwd: folder, stdio: "ignore" });
  const report = await readFile(path.join(folder, "report.html"), "utf8");
  await writeFile(path.join(content, "public", "report.html"), withNavigation(report, "./"));
  await rm(folder, { recursive: true });
}

/** The page that asks for a line has an address of its own. */
async function adviceForALine() {
  const old = path.join(content, "public", "playground", "advise.html");
  await mkdir(path.join(content, "public", "advise"));
  await writeFile(path.join(content, "public", "advise", "index.html"), advisePage(await readFile(old, "utf8")));
  await writeFile(path.join(content, "public", "playground", "moved.js"), MOVED);
  await writeFile(old, movedPage("moved.js"));
}

/** Copies a folder that another target of the Makefile builds. */
async function elsewhere(name, from, target) {
  if (!existsSync(from)) throw new Error(`${from} is not there: run ${target} first`);
  await cp(from, path.join(content, "public", name), { recursive: true });
}
