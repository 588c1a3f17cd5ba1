// The clock of a show: it asks the worker for what happens next, and tells the page when to draw.

import type { About, Catalogue, FromWorker, Story, ToWorker } from "./protocol.ts";
import { capacity } from "./rates.ts";
import { refusedSeed, type Request } from "./settings.ts";
import { Track } from "./track.ts";

/** What a player tells its owner. */
export interface Listener {
  ready(catalogue: Catalogue): void;
  loaded(about: About): void;
  refused(message: string): void;
  /** Once per frame of the screen. */
  drawn(now: number): void;
  /** The results of the run up to a time, which was asked for. */
  measured(json: string, to: number): void;
  over(json: string): void;
  told(column: number, packet: number, story: Story): void;
}

/** Time for which a dropped packet is seen falling, in ms of the viewer. */
export const FALL = 700;
/** Simulated nanoseconds that the worker is ahead of the picture at least, beside two frames of the screen. */
const AHEAD = 10e6;
/** Frames of the screen that an answer covers, so that not every frame needs one. */
const FRAMES = 3;
const FRAME = 16.7e6;
/** Simulated time of one question to the worker at most, and packets of its answer at most, so that it never takes long. */
const STRIDE = 500e6;
const PACKETS = 50_000;
/** Bits of a full packet. */
const PACKET = 12_000;

export class Player {
  about: About | null = null;
  tracks: Track[] = [];
  /** Simulated time of the picture, in nanoseconds. */
  now = 0;
  /** Simulated nanoseconds per real nanosecond. */
  speed = 0.5;
  isPlaying = false;
  isOver = false;
  /** Milliseconds that the worker spent on simulation, and the simulated time that it covered. */
  spent = 0;
  private show = 0;
  private known = 0;
  private asked = 0;
  private stride = STRIDE;
  private isAsking = false;
  private isAtEnd = false;
  private before: number | null = null;
  private readonly worker: Worker;

  constructor(private readonly listener: Listener) {
    this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.worker.onmessage = (event: MessageEvent<FromWorker>) => this.receive(event.data);
    this.worker.onerror = () => listener.refused("The simulator could not be loaded. Reload the page, or use a newer browser.");
    requestAnimationFrame((time) => this.tick(time));
  }

  /** Shows other runs, from this time on. */
  load(request: Request, from = 0): void {
    this.show += 1;
    [this.known, this.asked, this.isAsking, this.isAtEnd] = [0, 0, false, false];
    this.now = from;
    this.isOver = false;
    this.spent = 0;
    // Nothing of the earlier run may be seen, also if the new one is refused.
    const { about } = this;
    if (about !== null) this.tracks = about.columns.map(() => new Track(about));
    const refused = refusedSeed(request.seed ?? "");
    if (refused !== null) this.listener.refused(refused);
    else this.send({ type: "load", show: this.show, request });
  }

  /** Goes on to the next packet that leaves a queue. */
  step(): void {
    this.isPlaying = false;
    const next = Math.min(...this.tracks.map((track) => track.nextEnd(this.now)));
    if (Number.isFinite(next) && next <= this.known) this.now = next;
    else this.now = Math.min(this.known, this.now + 1e6);
  }

  /** Asks for the story of a packet whose fate is known. */
  tell(column: number, packet: number): void {
    this.send({ type: "story", show: this.show, column, packet });
  }

  /** Asks for the results of the run so far. */
  measure(): void {
    this.send({ type: "measure", show: this.show, to: Math.max(1, this.now) });
  }

  private send(message: ToWorker): void {
    this.worker.postMessage(message);
  }

  private receive(message: FromWorker): void {
    if (message.type === "ready") return this.listener.ready(message.catalogue);
    if (message.show !== this.show) return;
    if (message.type === "loaded") {
      this.about = message.about;
      const megabits = capacity(message.about, "down") + capacity(message.about, "up");
      this.stride = Math.min(STRIDE, (PACKETS * PACKET * 1e3) / megabits);
      this.tracks = message.about.columns.map(() => new Track(message.about));
      this.listener.loaded(message.about);
    } else if (message.type === "frame") {
      message.columns.forEach((frame, column) => this.tracks[column]?.take(frame, message.now));
      this.known = message.now;
      this.spent += message.spent;
      this.isAsking = false;
      this.isAtEnd = message.isOver;
    } else if (message.type === "story") {
      this.listener.told(message.column, message.packet, message.story);
    } else if (message.type === "measured") {
      this.listener.measured(message.json, message.to);
    } else if (message.type === "results") {
      this.listener.over(message.json);
    } else {
      this.listener.refused(message.message);
    }
  }

  private tick(time: number): void {
    const passed = this.before === null ? 0 : Math.min(100, time - this.before);
    this.before = time;
    if (this.about !== null && this.tracks.length > 0) {
      // The clock waits for the worker. After a jump (`load` from a later time) it waits there.
      if (this.isPlaying && this.known >= this.now) {
        this.now = Math.min(this.known, this.now + passed * 1e6 * this.speed);
      }
      const shown = Math.min(this.now, this.known);
      this.ask();
      if (this.isAtEnd && this.now >= this.known && !this.isOver) {
        this.isOver = true;
        this.isPlaying = false;
        this.send({ type: "finish", show: this.show });
      }
      for (const track of this.tracks) track.forget(this.now, FALL * 1e6 * this.speed);
      this.listener.drawn(shown);
    }
    requestAnimationFrame((next) => this.tick(next));
  }

  private ask(): void {
    if (this.isAsking || this.isAtEnd || this.about === null) return;
    const needed = Math.min(this.about.duration, this.now + AHEAD + 2 * FRAME * this.speed);
    if (needed <= this.known) return;
    const wanted = Math.min(this.about.duration, needed + FRAMES * FRAME * this.speed);
    this.asked = Math.min(wanted, this.known + this.stride);
    this.isAsking = true;
    this.send({ type: "advance", show: this.show, to: this.asked });
  }
}
