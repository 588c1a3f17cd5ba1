// Builds the playground into dist/, or with --tests its unit tests into dist-tests/.

import { build } from "esbuild";
import { copyFile, cp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { withPolicy } from "./policy.mjs";

const common = {
  bundle: true,
  format: "esm",
  target: "es2022",
  logLevel: "warning",
  jsx: "automatic",
  jsxImportSource: "preact",
};

if (process.argv.includes("--tests")) {
  await rm("dist-tests", { recursive: true, force: true });
  const tests = (await readdir("tests")).filter((name) => name.endsWith(".test.ts"));
  await build({
    ...common,
    entryPoints: tests.map((name) => `tests/${name}`),
    outdir: "dist-tests",
    outExtension: { ".js": ".mjs" },
    platform: "node",
  });
} else {
  await rm("dist", { recursive: true, force: true });
  await mkdir("dist");
  await build({
    ...common,
    entryPoints: ["src/main.tsx", "src/teachers.tsx", "src/advise.tsx", "src/worker.ts", "src/adviser.ts", "src/style.css"],
    outdir: "dist",
    minify: true,
    // The module is fetched by its address.
    external: ["*.wasm"],
  });
  for (const page of ["index.html", "teachers.html", "advise.html"]) await writeFile(`dist/${page}`, withPolicy(await readFile(page, "utf8")));
  // The chart library of the reports, with its notices.
  await cp("../crates/goodqueue-report/vendor/echarts", "dist/echarts", { recursive: true });
  await copyFile("pkg/goodqueue_wasm_bg.wasm", "dist/goodqueue_wasm_bg.wasm");
}
