// The clock's buttons, the speed, and what to show.

import type { Actions } from "./actions.ts";
import { PRESETS, presetOf } from "./presets.ts";
import type { Readings } from "./readings.ts";
import type { Run } from "./run.ts";
import { Sound } from "./sound.ts";
import type { View } from "./view.ts";

const SPEEDS: [string, string][] = [
  ["packet", "1 packet per second"],
  ["0.001", "1/1000 of real time"],
  ["0.01", "1/100 of real time"],
  ["0.1", "1/10 of real time"],
  ["0.25", "1/4 of real time"],
  ["0.5", "1/2 of real time"],
  ["1", "real time"],
  ["4", "4 times real time"],
  ["16", "16 times real time"],
];

interface Props {
  view: View;
  run: Run;
  act: Actions;
  readings: Readings;
}

export function Toolbar({ view, run, act, readings }: Props) {
  const { isPlaying, speed, setSpeed } = view;
  return (
    <div class="toolbar" role="toolbar" aria-label="Clock">
      <button class="main" onClick={act.play} aria-pressed={isPlaying}>{isPlaying ? "Pause" : "Start"}</button>
      <button onClick={act.step} title="Go on to the next packet that leaves a queue">Step</button>
      <button onClick={act.restart}>Restart</button>
      <label>
        <span class="hidden">Speed</span>
        <select value={speed} onChange={(event) => setSpeed(event.currentTarget.value)}>
          {SPEEDS.map(([value, text]) => <option value={value}>{text}</option>)}
        </select>
      </label>
      <Shown view={view} run={run} act={act} />
      <label class="check">
        <input type="checkbox" onChange={(event) => {
          readings.sound?.close();
          readings.sound = event.currentTarget.checked ? new Sound() : null;
        }} />
        Sound
      </label>
      <output class="clock" ref={readings.clock}>0.0 s</output>
      <progress ref={readings.progress} max={1} value={0} aria-label="Part of the run that has passed" />
    </div>
  );
}

/** The line and the traffic that are shown: a preset, a built-in scenario, or the reader's own. */
export function chosenIn({ settings }: View): string {
  return settings.builtin ?? presetOf(settings)?.name ?? "";
}

function Shown({ view, run, act }: Pick<Props, "view" | "run" | "act">) {
  const chosen = chosenIn(view);
  return (
    <label>
      <span class="hidden">Line and traffic</span>
      <select value={chosen} onChange={(event) => act.choose(event.currentTarget.value)}>
        {chosen === "" && <option value="">{view.settings.toml === null ? "Your own line" : "A scenario file"}</option>}
        <optgroup label="Lines">
          {PRESETS.map(({ name }) => <option value={name}>{name}</option>)}
        </optgroup>
        <optgroup label="Built-in scenarios">
          {run.catalogue?.scenarios.map(({ name }) => <option value={name}>{name}</option>)}
        </optgroup>
      </select>
    </label>
  );
}
