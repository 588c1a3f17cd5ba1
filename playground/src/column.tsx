// One column: a discipline's line, the picture of its queues, its ping and its flows.

import { useEffect, useRef } from "preact/hooks";
import { facts } from "./facts.ts";
import { coloursOf } from "./colours.ts";
import { flowRows, namesOf, type FlowRow } from "./flows.ts";
import { Parameters } from "./parameters.tsx";
import { capital, plainName, wayOf } from "./plain.ts";
import type { About, Catalogue, Story } from "./protocol.ts";
import { capacity } from "./rates.ts";
import { Scene, rowsOf, type Look } from "./scene.ts";
import { sparkline } from "./sparkline.ts";
import { windowOf, type Packet, type Reading, type Track } from "./track.ts";
import { grade, idle, ms, span } from "./words.ts";

/** What a column needs to draw itself. */
export interface Moment {
  now: number;
  speed: number;
  /** Largest backlog in bytes of any column, for each queue: all columns have the same scale. */
  room: number[];
  /** Longest ping of any column. */
  top: number;
  /** The ping that each column shows in large. Empty while no numbers change. */
  pings: (Reading | null)[];
  /** True a few times per second, when the numbers change. */
  changesNumbers: boolean;
}

export type Draw = (track: Track, moment: Moment) => void;

interface Props {
  about: About;
  index: number;
  line: string;
  error: string | null;
  isRemovable: boolean;
  onLine(line: string): void;
  onRemove(): void;
  /** The packet that the user asks, and the time at which it is asked. */
  asked: { packet: Packet; now: number; story: Story | null } | null;
  reasons: string[];
  /** Null where parameters are not offered. */
  catalogue: Catalogue | null;
  onAsk(packet: Packet | null): void;
  /** The last packet of a kind, for users without a pointer. */
  lastOf(kind: "ping" | "drop" | "mark"): Packet | undefined;
  /** Hands out the function that draws this column. */
  register(index: number, draw: Draw | null): void;
}

/** Simulated time that a sparkline covers. */
const SPAN = 12e9;

export function Column({ about, index, line, error, isRemovable, onLine, onRemove, asked, reasons, catalogue, onAsk, lastOf, register }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const spark = useRef<HTMLCanvasElement>(null);
  const number = useRef<HTMLElement>(null);
  const bars = useRef<HTMLUListElement>(null);
  const losses = useRef<HTMLParagraphElement>(null);
  const scenes = useRef<Scene | null>(null);
  const pointed = useRef<number | null>(null);
  pointed.current = asked?.packet.id ?? null;
  const names = namesOf(about);
  const colours = coloursOf(about);
  const rows = flowRows(about);

  useEffect(() => {
    const context = canvas.current?.getContext("2d", { alpha: false });
    const small = spark.current?.getContext("2d");
    if (!context || !small) return;
    const scene = new Scene(context, rowsOf(about, index));
    scenes.current = scene;
    let seen = look(context.canvas, colours);
    register(index, (track, moment) => {
      const ratio = Math.min(3, window.devicePixelRatio || 1);
      // Reading styles in every frame would be slow.
      if (moment.changesNumbers) seen = look(context.canvas, colours);
      seen.asked = pointed.current;
      const width = fit(context.canvas, scene.height(seen.isNarrow), ratio);
      scene.draw(track, moment.now, seen, { width, ratio }, moment.room, moment.speed);
      if (!moment.changesNumbers) return;
      const wide = fit(small.canvas, 44, ratio);
      const style = getComputedStyle(small.canvas);
      sparkline(
        small, track.answersUntil(moment.now), moment.now, SPAN, moment.top, { width: wide, height: 44, ratio },
        style.getPropertyValue("--ping"), style.getPropertyValue("--faint"),
      );
      numbers(track, moment, index, about, rows, { ping: number.current, bars: bars.current, losses: losses.current });
    });
    return () => register(index, null);
  }, [about, index]);

  const told = asked === null ? null : facts(asked.packet, about.places[asked.packet.queue >> 1]?.name ?? null, asked.now, names[asked.packet.flow] ?? "flow", reasons);
  const probe = about.flows.findIndex((flow) => flow.kind === "ping");
  const label = about.columns[index]?.label ?? line;
  const heading = label !== about.columns[index]?.line ? label : plainName(about, index);
  const way = wayOf(about);
  const lately = span(windowOf(about));
  return (
    <section class="column" aria-label={`Queue ${index + 1}: ${label}`}>
      {heading !== null && <h2 class="label">{capital(heading)}</h2>}
      <div class="line">
        <label class="hidden" for={`line-${index}`}>Discipline of queue {index + 1}, in tc's grammar</label>
        <span aria-hidden="true">tc qdisc</span>
        <input
          id={`line-${index}`} value={line} spellcheck={false} autocapitalize="off" list="disciplines"
          aria-invalid={error !== null} aria-describedby={error === null ? undefined : `error-${index}`}
          onChange={(event) => onLine(event.currentTarget.value)}
        />
        {isRemovable && <button class="quiet" onClick={onRemove} aria-label={`Remove queue ${index + 1}`}>×</button>}
      </div>
      {error !== null && <pre class="error" id={`error-${index}`} role="alert">{error}</pre>}
      <div class="ping">
        <p title={`Mean of the pings of the last ${lately}`}>
          <span>{names[probe] ?? "ping"}<small>mean of {lately}</small></span> <strong ref={number} class="ms">–</strong>
        </p>
        <canvas ref={spark} class="spark" role="img" aria-label="Ping times of the last 12 seconds" />
      </div>
      <p class="way" role="img" aria-label={`The way of the packets: ${way.join(", ")}`}>
        {way.map((station, at) => <>{at > 0 && <i aria-hidden="true">→</i>}<span>{station}</span></>)}
      </p>
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: the arrow keys choose a packet on the canvas */}
      <canvas
        ref={canvas} class="scene" role="application" tabIndex={0}
        aria-label="Packets in the two queues and on the line. The arrow keys choose a packet and show its story."
        onClick={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          onAsk(scenes.current?.at(event.clientX - box.left, event.clientY - box.top) ?? null);
        }}
        onKeyDown={(event) => {
          const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key] as 1 | -1 | undefined;
          if (event.key === "Escape") onAsk(null);
          if (step === undefined) return;
          event.preventDefault();
          onAsk(scenes.current?.beside(pointed.current, step) ?? null);
        }}
      />
      {told !== null && (
        <aside class="story" aria-live="polite">
          <button class="quiet" onClick={() => onAsk(null)} aria-label="Close the story">×</button>
          <h3>{told.title}</h3>
          {(asked?.story?.sentences ?? told.lines).map((text) => <p>{text}</p>)}
          {asked?.story !== null && asked !== null && asked.story.state.length > 0 && (
            <div class="wide">
              <table>
                <thead><tr><th>state</th><th>before</th><th>after</th><th>meaning</th></tr></thead>
                <tbody>
                  {asked.story.state.map(([name, before, after, meaning]) => (
                    <tr><th scope="row">{name}</th><td>{before}</td><td>{after}</td><td>{meaning}</td></tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </aside>
      )}
      <ul class="flows" ref={bars} aria-label={`Goodput of each flow, mean of the last ${lately}`}>
        {rows.map(({ name, flows: [first = 0] }) => (
          <li key={name}>
            <i style={{ background: colours[first] }} /> <span>{name}</span>
            <b class="bar"><b style={{ background: colours[first] }} /></b> <output>0.00</output>
          </li>
        ))}
      </ul>
      <p class="losses" ref={losses}>
        <span>no drops</span>
        {(["ping", "drop", "mark"] as const).map((kind) => (
          <button class="link" data-kind={kind} disabled onClick={() => { const last = lastOf(kind); if (last !== undefined) onAsk(last); }}>
            Ask the last {kind}
          </button>
        ))}
      </p>
      {catalogue !== null && <Parameters line={line} catalogue={catalogue} onLine={onLine} />}
    </section>
  );
}

/** Gives a canvas as many pixels as the screen has, and returns its width in CSS pixels. */
function fit(canvas: HTMLCanvasElement, height: number, ratio: number): number {
  const width = canvas.clientWidth;
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== across || canvas.height !== down) {
    [canvas.width, canvas.height] = [across, down];
    canvas.style.height = `${height}px`;
  }
  return width;
}

function look(canvas: HTMLCanvasElement, colours: string[]): Look {
  const style = getComputedStyle(canvas);
  const value = (name: string) => style.getPropertyValue(name);
  return {
    ink: value("--ink"), faint: value("--muted"), paper: value("--paper"), pipe: value("--pipe"), alarm: value("--alarm"),
    colours, asked: null, isNarrow: canvas.clientWidth < 420,
  };
}

/** The elements of a column whose numbers change. */
interface Shown {
  ping: HTMLElement | null;
  bars: HTMLElement | null;
  losses: HTMLElement | null;
}

function numbers(track: Track, moment: Moment, index: number, about: About, rows: FlowRow[], { ping, bars, losses }: Shown): void {
  const { now } = moment;
  const seen = moment.pings[index] ?? null;
  if (ping !== null) {
    ping.textContent = seen === null ? "–" : ms(seen.time);
    ping.dataset["grade"] = seen === null ? "" : grade(seen.time, idle(about));
  }
  [...(bars?.children ?? [])].forEach((item, at) => {
    const { flows = [] } = rows[at] ?? {};
    const [value, most, text] = about.flows[flows[0] ?? 0]?.kind === "ping" ? answer(track, flows[0] ?? 0, moment) : rate(track, flows, now, about);
    const [bar] = item.querySelectorAll<HTMLElement>(".bar > b");
    if (bar !== undefined) bar.style.width = `${Math.min(100, (100 * value) / most)}%`;
    const output = item.querySelector("output");
    if (output !== null) output.textContent = text;
  });
  if (losses !== null) {
    const sum = (counts: number[]) => counts.reduce((all, count) => all + count, 0);
    const [drops, marks] = [sum(track.drops), sum(track.marks)];
    const [words] = losses.getElementsByTagName("span");
    if (words !== undefined) words.textContent = `${drops === 0 ? "no" : drops} drop${drops === 1 ? "" : "s"}${marks > 0 ? `, ${marks} marks` : ""}`;
    for (const button of losses.getElementsByTagName("button")) {
      button.disabled = track.lastOf(button.dataset["kind"] as "ping" | "drop" | "mark", now) === undefined;
    }
  }
}

/** Goodput of the flows of a row, the length of its bar at most, and the text. */
function rate(track: Track, flows: number[], now: number, about: About): [number, number, string] {
  const rate = flows.reduce((sum, flow) => sum + track.goodput(flow, now), 0);
  return [rate, capacity(about, about.flows[flows[0] ?? 0]?.direction ?? "down"), `${rate < 10 ? rate.toFixed(2) : rate.toFixed(1)} Mbit/s`];
}

/** The same of a further ping. */
function answer(track: Track, flow: number, { now, top }: Moment): [number, number, string] {
  const seen = track.ping(now, flow);
  return seen === null ? [0, top, "–"] : [seen.time, Math.max(top, seen.time), ms(seen.time)];
}
