// The table of a finished run, from the results that the command would write.

interface Summary {
  mean: number | null;
  p95: number | null;
  p99: number | null;
}
interface Link {
  packets: { dropped: number; marked: number };
}
export interface Run {
  qdisc: string;
  goodput: { down: number; up: number };
  induced_latency_s: Summary;
  bottleneck: { down: Link; up: Link };
  grade: string | null;
}

const mbit = (bits: number) => (bits / 1e6).toFixed(2);
const ms = (seconds: number | null) => (seconds === null ? "–" : (seconds * 1e3).toFixed(seconds < 0.01 ? 1 : 0));

/** The cells of a row, in the order of the headings. */
export function row(run: Run): string[] {
  const { goodput, induced_latency_s: latency, bottleneck: { down, up } } = run;
  return [
    `${mbit(goodput.down)} / ${mbit(goodput.up)}`, [latency.mean, latency.p95, latency.p99].map(ms).join(" / "),
    `${down.packets.dropped} / ${up.packets.dropped}`, `${down.packets.marked} / ${up.packets.marked}`, run.grade ?? "–",
  ];
}

/** `until` is the time in nanoseconds up to which a run that is not over was measured. */
export function Results({ json, until, labels }: { json: string; until: number | null; labels: string[] }) {
  const { runs } = JSON.parse(json) as { runs: Run[] };
  return (
    <div class="wide results">
      <table>
        <caption>{until === null ? "The run" : `The first ${(until / 1e9).toFixed(1)} s`}, as <code>goodqueue compare</code> tells it</caption>
        <thead>
          <tr>
            <th>qdisc</th><th>goodput down / up in Mbit/s</th><th>induced latency mean / p95 / p99 in ms</th>
            <th>drops down / up</th><th>marks down / up</th><th>grade</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run, index) => (
            <tr><th scope="row">{labels[index] ?? run.qdisc}</th>{row(run).map((cell) => <td>{cell}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
