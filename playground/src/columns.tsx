// The compared queues side by side, and what there is to know of their run.

import type { Actions } from "./actions.ts";
import { IS_EMBEDDED } from "./address.ts";
import { Charts } from "./charts.tsx";
import { Column } from "./column.tsx";
import type { Readings } from "./readings.ts";
import { Results } from "./results.tsx";
import type { Run } from "./run.ts";
import type { Settings } from "./settings.ts";

/** Most columns that the page offers to add. */
const MOST_COLUMNS = 3;

interface Props {
  settings: Settings;
  run: Run;
  act: Actions;
  readings: Readings;
}

/** The column whose line was refused; -1 if the error is about something else. */
export function refusedColumn({ qdiscs }: Settings, error: string | null): number {
  return error === null ? -1 : qdiscs.findIndex((line) => error.includes(`| ${line}`));
}

export function Columns({ settings, run, act, readings }: Props) {
  const { about, asked, catalogue, error, player } = run;
  if (about === null) return null;
  const { qdiscs } = settings;
  const refused = refusedColumn(settings, error);
  const lines = about.columns.map((column, index) => qdiscs[index] ?? column.line);
  const take = (changed: string[]) => act.show({ ...settings, qdiscs: changed });
  return (
    <>
      <div class="columns" data-count={lines.length} data-loads={run.loads}>
        {about.columns.map((_, index) => (
          <Column
            key={index} about={about} index={index} line={lines[index] ?? ""} error={refused === index ? error : null}
            isRemovable={lines.length > 1}
            onLine={(line) => take(lines.map((old, at) => (at === index ? line.trim() : old)))}
            onRemove={() => take(lines.filter((__, at) => at !== index))}
            asked={asked?.column === index ? asked : null} reasons={catalogue?.drop_reasons ?? []}
            catalogue={IS_EMBEDDED ? null : catalogue}
            onAsk={(packet) => act.ask(index, packet)}
            lastOf={(kind) => player.tracks[index]?.lastOf(kind, player.now)}
            register={(at, draw) => { readings.draws[at] = draw; }}
          />
        ))}
      </div>
      {!IS_EMBEDDED && lines.length < MOST_COLUMNS && (
        <button class="add" onClick={() => take([...lines, "codel"])}>Add a queue</button>
      )}
      {!IS_EMBEDDED && <Known run={run} />}
    </>
  );
}

/** The table of the run, as far as it is known, and its charts. */
function Known({ run }: { run: Run }) {
  const { about, json, partial, player } = run;
  if (about === null) return null;
  return (
    <>
      {json === null && <button class="add" onClick={() => player.measure()}>Table of the run so far</button>}
      {(json !== null || partial !== null) && (
        <Results
          json={json ?? partial?.json ?? ""} until={json === null ? (partial?.at ?? null) : null}
          labels={about.columns.map((column) => column.label)}
        />
      )}
      <Charts player={player} about={about} />
    </>
  );
}
