// The picture of the playground in the README: the first sight after three seconds of simulated
// time.
//
// Usage: node screenshot.mjs FILE.png

import { launch, serve } from "./tests/site.mjs";

const site = await serve(new URL("dist", import.meta.url).pathname);
const browser = await launch();
const page = await browser.newPage();
await page.setViewport({ width: 1200, height: 690 });
await page.goto(`${site.address}?embed`);
await page.waitForFunction(() => parseFloat(document.querySelector(".clock")?.textContent ?? "0") >= 3);
await page.click("button.main");
// The sentence follows the clock.
await new Promise((done) => setTimeout(done, 1500));
await page.screenshot({ path: process.argv[2] });
await browser.close();
site.close();
