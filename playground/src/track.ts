// What the page knows of one column: its packets, its pings and its flows up to the time that is
// drawn.

import type { About, ColumnFrame } from "./protocol.ts";

export type Side = 0 | 1;
export const DOWN: Side = 0;
export const UP: Side = 1;

/** Number of a queue: that of its place, with its side. The queues of the compared disciplines are 0 and 1. */
export type QueueId = number;

export function queueOf(place: number, side: Side): QueueId {
  return 2 * place + side;
}

/** A packet at a queue. Times are nanoseconds; Infinity: not yet. */
export interface Packet {
  /** Running number at its place. */
  number: number;
  /** Place and number in one. */
  id: number;
  queue: QueueId;
  side: Side;
  flow: number;
  bytes: number;
  kind: "data" | "ack" | "ping";
  isCapable: boolean;
  arrived: number;
  /** Packets and bytes that it found in the queue. */
  found: [number, number];
  /** Time at which it left the queue. */
  left: number;
  /** Time at which its last bit is on the wire. */
  sent: number;
  /** 0: sent; otherwise the number of the drop reason plus 1. */
  fate: number;
  isMarked: boolean;
  /** Time at which it is at its host, at the next queue, or dropped. */
  until: number;
  /** Where the picture has drawn it in its queue; NaN: nowhere yet. */
  x: number;
}

export interface Answer {
  flow: number;
  sentAt: number;
  time: number;
}

/** The ping that the page shows of a flow. */
export interface Reading {
  /** Nanoseconds. */
  time: number;
  /** True if a ping is on its way that has already taken longer than the answered ones. */
  isWaiting: boolean;
}

export interface FlowState {
  /** Bytes that have arrived, each counted once. */
  received: number;
  cwnd: number;
  inFlight: number;
  srtt: number;
  retransmits: number;
}

/** The queues in one step of time. */
export interface Bin {
  at: number;
  /** Longest sojourn time of the packets that left each queue. */
  sojourn: number[];
  /** Packets in each queue after the last event of the step. */
  backlog: number[];
}

const RECORD = 8;
const FLOW = 5;
/** More places than a path has. */
export const MOST_PLACES = 64;
const KINDS = ["data", "ack", "ping"] as const;
const MEGA = 1e6;

/** Time over which goodput and pings are averaged: two seconds, or a tenth of a short run. */
export function windowOf(about: About): number {
  return Math.min(2000 * MEGA, about.duration / 10);
}

/** One sample of all flows. */
export interface Sample {
  at: number;
  flows: FlowState[];
}

export class Track {
  /** The packets of each queue by the order of their arrival, as long as they may be drawn. */
  lanes: Packet[][];
  /** Answered pings in the order of their sending. */
  answers: Answer[] = [];
  /** States of the flows, at most one for each step of the history. */
  samples: Sample[] = [];
  /** Whether a queue separates flows: a packet has overtaken one of another flow. */
  separates: boolean[];
  /** Most bytes ever held by a queue. */
  peak: number[];
  drops: number[];
  marks: number[];
  /** The last packets that are pings, and those that were dropped or marked, also after they are out of sight. */
  readonly recent: Record<"ping" | "drop" | "mark", Packet[]> = { ping: [], drop: [], mark: [] };
  /** The packets in each queue, as far as the worker knows, in the order of their arrival. */
  private queued: Map<number, Packet>[];
  /** Whether the delay of the path follows a queue. */
  private readonly isLast: boolean[];
  private history: Bin[] = [];
  /** The flow whose pings the column shows in large, or -1. */
  readonly probe: number;
  private readonly rtt: number[];
  /** Length of a step of the history. */
  private readonly step: number;
  /** The side of the data of each flow. */
  private readonly sides: Side[];
  private readonly window: number;

  constructor(about: About) {
    this.isLast = about.places.flatMap((place) => place.before_the_delay);
    const ofQueues = <T>(value: () => T) => this.isLast.map(value);
    this.lanes = ofQueues(() => []);
    this.separates = ofQueues(() => false);
    [this.peak, this.drops, this.marks] = [ofQueues(() => 0), ofQueues(() => 0), ofQueues(() => 0)];
    this.queued = ofQueues(() => new Map());
    this.probe = about.flows.findIndex((flow) => flow.kind === "ping");
    this.rtt = about.flows.map((flow) => flow.rtt);
    this.sides = about.flows.map((flow) => (flow.direction === "up" ? UP : DOWN));
    this.step = Math.max(MEGA, about.duration / 600);
    this.window = windowOf(about);
  }

  /** Takes in what happened up to `now`. */
  take(frame: ColumnFrame, now: number): void {
    for (let at = 0; at < frame.packets.length; at += RECORD) this.record(frame.packets, at);
    for (let at = 0; at < frame.answers.length; at += 3) {
      const [flow, sentAt, time] = frame.answers.subarray(at, at + 3) as unknown as [number, number, number];
      this.answers.push({ flow, sentAt, time });
    }
    const last = this.samples.at(-1);
    if (last === undefined || now - last.at >= Math.min(50 * MEGA, this.step)) {
      const flows: FlowState[] = [];
      for (let at = 0; at < frame.flows.length; at += FLOW) {
        const [received, cwnd, inFlight, srtt, retransmits] = frame.flows.subarray(at, at + FLOW) as unknown as [
          number, number, number, number, number,
        ];
        flows.push({ received, cwnd, inFlight, srtt, retransmits });
      }
      this.samples.push({ at: now, flows });
    }
  }

  private record(records: Float64Array, from: number): void {
    const read = (offset: number) => records[from + offset] ?? 0;
    const [type, number, time] = [read(0), read(1), read(2)];
    const queue: QueueId = type >> 1;
    const queued = this.queued[queue];
    const lane = this.lanes[queue];
    if (queued === undefined || lane === undefined) return;
    const [a, b, c, d] = [read(3), read(4), read(5), read(6)];
    if (type % 2 === 0) {
      const e = read(7);
      const side: Side = queue % 2 === 0 ? DOWN : UP;
      const packet: Packet = {
        number, id: number * MOST_PLACES + (queue >> 1), queue, side, flow: a, bytes: b, kind: KINDS[(c % 4) as 0 | 1 | 2] ?? "data", isCapable: c >= 8,
        arrived: time, found: [d, e], left: Infinity, sent: Infinity, fate: 0, isMarked: false, until: Infinity, x: NaN,
      };
      lane.push(packet);
      if (packet.kind === "ping") this.remember("ping", packet);
      queued.set(number, packet);
      this.peak[queue] = Math.max(this.peak[queue] ?? 0, e + b);
      this.bin(time).backlog[queue] = d + 1;
      return;
    }
    const packet = queued.get(number);
    if (packet === undefined) return;
    if (a === 0 && this.separates[queue] === false) {
      const [first] = queued.values();
      this.separates[queue] = first !== undefined && first !== packet && first.flow !== packet.flow;
    }
    queued.delete(number);
    const bin = this.bin(time);
    bin.backlog[queue] = d;
    if (a === 0) bin.sojourn[queue] = Math.max(bin.sojourn[queue] ?? 0, time - packet.arrived);
    packet.left = time;
    packet.sent = b;
    packet.fate = a;
    packet.isMarked = c === 1;
    packet.until = a > 0 ? b : b + this.wayBehind(packet);
    if (a > 0) {
      this.drops[queue] = (this.drops[queue] ?? 0) + 1;
      this.remember("drop", packet);
    }
    if (c === 1) {
      this.marks[queue] = (this.marks[queue] ?? 0) + 1;
      this.remember("mark", packet);
    }
  }

  /** The step of the history that holds this time, which is not before the last one. */
  private bin(time: number): Bin {
    const at = Math.floor(time / this.step) * this.step;
    const last = this.history.at(-1);
    if (last !== undefined && last.at >= at) return last;
    const nothing = this.isLast.map(() => 0);
    const next: Bin = { at, sojourn: nothing, backlog: [...(last?.backlog ?? nothing)] };
    this.history.push(next);
    return next;
  }

  /** The steps of the history that have ended by `now`. */
  bins(now: number): Bin[] {
    return this.history.filter((bin) => bin.at + this.step <= now);
  }

  /** The states of the flows up to `now`. */
  samplesUntil(now: number): Sample[] {
    return this.samples.filter((sample) => sample.at <= now);
  }

  private remember(kind: "ping" | "drop" | "mark", packet: Packet): void {
    const recent = this.recent[kind];
    recent.push(packet);
    if (recent.length > 200) recent.shift();
  }

  /** The last ping that arrived, or the last packet that was dropped or marked, at `now`. */
  lastOf(kind: "ping" | "drop" | "mark", now: number): Packet | undefined {
    return this.recent[kind].findLast((packet) => (kind === "ping" ? packet.arrived : packet.left) <= now);
  }

  /** Time that a sent packet takes from the link to its host, or to the next queue. */
  wayBehind(packet: Packet): number {
    return this.isLast[packet.queue] === true ? (this.rtt[packet.flow] ?? 0) / 2 : 0;
  }

  /** The packets of all queues that may be drawn. */
  *packets(): Generator<Packet> {
    for (const lane of this.lanes) yield* lane;
  }

  /** Forgets packets that can no longer be seen at `now`. A dropped packet falls for some time. */
  forget(now: number, fall: number): void {
    // In place: a new list for every frame of the screen would be garbage.
    for (const lane of this.lanes) {
      let kept = 0;
      for (const packet of lane) if (packet.until + (packet.fate === 0 ? 0 : fall) > now) lane[kept++] = packet;
      lane.length = kept;
    }
  }

  /**
   * The ping that the page shows of a flow at `now`. The number, its colour and the sentence all have this value.
   *
   * It is the mean of the pings that were answered in the last `window`, or the last answer if there is none. The oldest ping
   * on its way counts too, as soon as it has taken longer than this mean.
   */
  ping(now: number, flow = this.probe): Reading | null {
    const answered = this.answersUntil(now, flow);
    const last = answered.at(-1);
    const recent = answered.filter((answer) => answer.sentAt + answer.time > now - this.window);
    const times = (recent.length > 0 || last === undefined ? recent : [last]).map((answer) => answer.time);
    const mean = times.reduce((sum, time) => sum + time, 0) / Math.max(1, times.length);
    const age = now - this.oldestOpen(now, flow, last?.sentAt ?? -1);
    if (age <= 0 && last === undefined) return null;
    if (age <= mean) return { time: mean, isWaiting: false };
    // Without a recent answer, an old one tells nothing of the present.
    if (recent.length === 0) return { time: age, isWaiting: true };
    return { time: (mean * times.length + age) / (times.length + 1), isWaiting: true };
  }

  /** Time at which the oldest unanswered ping of a flow was sent after `since`; `now` if there is none. */
  private oldestOpen(now: number, flow: number, since: number): number {
    let begun = now;
    for (const packet of this.recent.ping) {
      if (packet.flow === flow && packet.side === UP && packet.arrived > since && packet.fate === 0) begun = Math.min(begun, packet.arrived);
    }
    return begun;
  }

  /** Answers to the pings of a flow that have arrived by `now`. */
  answersUntil(now: number, flow = this.probe): Answer[] {
    return this.answers.filter((answer) => answer.flow === flow && answer.sentAt + answer.time <= now);
  }

  /**
   * Goodput of a flow in Mbit/s, the mean of the last `window`.
   *
   * A byte counts once, when it arrives. Bytes behind a gap count then too: if they counted only when the gap is filled, a
   * second would have more of them than the line carries. A queue behind the line may still add what it held.
   */
  goodput(flow: number, now: number): number {
    const until = this.sampleAt(now);
    if (until === undefined) return 0;
    // Before the run nothing was sent.
    const from = this.sampleAt(until.at - this.window) ?? { at: 0, flows: [] };
    const bytes = (until.flows[flow]?.received ?? 0) - (from.flows[flow]?.received ?? 0);
    return (bytes * 8 * 1e3) / Math.max(this.window, until.at - from.at);
  }

  /** The last sample not after `now`. */
  sampleAt(now: number): Sample | undefined {
    let [low, high] = [0, this.samples.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.samples[middle]?.at ?? 0) <= now) low = middle + 1;
      else high = middle;
    }
    return this.samples[low - 1];
  }

  /** Packets and bytes in a queue at `now`. */
  held(queue: QueueId, now: number): { packets: number; bytes: number } {
    const held = { packets: 0, bytes: 0 };
    for (const packet of this.lanes[queue] ?? []) {
      if (packet.arrived <= now && packet.left > now) {
        held.packets += 1;
        held.bytes += packet.bytes;
      }
    }
    return held;
  }

  /** Number of flows that have data in a queue at `now`. */
  flowsIn(queue: QueueId, now: number): number {
    // A request of QUIC travels against the data of its flow.
    const isData = (packet: Packet) => packet.kind === "data" && packet.side === this.sides[packet.flow];
    const there = (packet: Packet) => isData(packet) && packet.arrived <= now && packet.left > now;
    return new Set((this.lanes[queue] ?? []).filter(there).map((packet) => packet.flow)).size;
  }

  /** The next time after `now` at which a packet leaves a queue, as far as it is known. */
  nextEnd(now: number): number {
    let next = Infinity;
    for (const packet of this.packets()) if (packet.left > now && packet.left < next) next = packet.left;
    return next;
  }
}
