// The scenario as text, which the user may change.

import { useEffect, useState } from "preact/hooks";

export function ScenarioText({ text, onRun }: { text: string; onRun(toml: string): void }) {
  const [written, write] = useState(text);
  useEffect(() => write(text), [text]);
  return (
    <details class="scenario">
      <summary>The scenario as text</summary>
      <p>
        A scenario file of <code>goodqueue compare</code>, in TOML. Paste your own one here: other traffic, several hops, WiFi.
      </p>
      <textarea
        value={written} rows={14} spellcheck={false} aria-label="Scenario file in TOML"
        onInput={(event) => write(event.currentTarget.value)}
      />
      <button disabled={written === text} onClick={() => onRun(written)}>Run this scenario</button>
    </details>
  );
}
