// How to take along what is shown: a link, a command, a file, a program, a frame.

import { useState } from "preact/hooks";
import { frame } from "./address.ts";
import { command, file, python, type Settings } from "./settings.ts";

/** Milliseconds for which the page says what was copied. */
const SAID = 4000;

export function Share({ settings, json }: { settings: Settings; json: string | null }) {
  const [copied, setCopied] = useState("");

  async function copy(what: string, text: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(`${what} copied`);
    } catch {
      // Without leave to copy the reader can still select the text.
      setCopied(text);
    }
    setTimeout(() => setCopied(""), SAID);
  }

  const toml = file(settings);
  return (
    <div class="share">
      <button onClick={() => copy("link", location.href)}>Copy link</button>
      <button onClick={() => copy("command", command(settings))}>Copy command</button>
      {toml !== null && <button onClick={() => copy("scenario", toml)}>Copy TOML</button>}
      <button onClick={() => copy("program", python(settings))}>Copy Python</button>
      {json !== null && <a class="button" download="results.json" href={`data:application/json,${encodeURIComponent(json)}`}>Results as JSON</a>}
      <button onClick={() => copy("frame", frame())}>Copy embed code</button>
      <output aria-live="polite">{copied}</output>
    </div>
  );
}
