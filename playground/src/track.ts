// What the page knows of one column: its packets, its pings and its flows up to the time that is
// drawn.

import type { About, ColumnFrame } from "./protocol.ts";

export type Side = 0 | 1;
export const DOWN: Side = 0;
export const UP: Side = 1;

/** A packet at a queue. Times are nanoseconds; Infinity: not yet. */
export interface Packet {
  number: number;
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
}

export interface Answer {
  flow: number;
  sentAt: number;
  time: number;
}

export interface FlowState {
  delivered: number;
  cwnd: number;
  inFlight: number;
  srtt: number;
  retransmits: number;
}

/** The queues in one step of time. */
export interface Bin {
  at: number;
  /** Longest sojourn time of the packets that left: down, up. */
  sojourn: [number, number];
  /** Packets queued after the last event of the step: down, up. */
  backlog: [number, number];
}

const RECORD = 8;
const FLOW = 5;
const KINDS = ["data", "ack", "ping"] as const;
const MEGA = 1e6;

/** One sample of all flows. */
export interface Sample {
  at: number;
  flows: FlowState[];
}

export class Track {
  /** Packets by the order of their arrival, as long as they may be drawn. */
  packets: Packet[] = [];
  /** Answered pings in the order of their sending. */
  answers: Answer[] = [];
  /** States of the flows, at most one for each step of the history. */
  samples: Sample[] = [];
  /** Whether the queue of a side separates flows: a packet has overtaken one of another flow. */
  separates: [boolean, boolean] = [false, false];
  /** Most bytes ever held by the queue of a side. */
  peak: [number, number] = [0, 0];
  drops: [number, number] = [0, 0];
  marks: [number, number] = [0, 0];
  /** The packets that the page offers to explain without a pointer. */
  private recent: Record<"ping" | "drop" | "mark", Packet[]> = { ping: [], drop: [], mark: [] };
  /** The packets in each queue, as far as the worker knows, in the order of their arrival. */
  private queued: [Map<number, Packet>, Map<number, Packet>] = [new Map(), new Map()];
  private history: Bin[] = [];
  /** The flow whose pings the column shows in large, or -1. */
  readonly probe: number;
  private readonly rtt: number[];
  /** Length of a step of the history. */
  private readonly step: number;
  /** Time over which goodput is measured. */
  private readonly window: number;

  constructor(about: About) {
    this.probe = about.flows.findIndex((flow) => flow.kind === "ping");
    this.rtt = about.flows.map((flow) => flow.rtt);
    this.step = Math.max(MEGA, about.duration / 600);
    this.window = Math.min(1000 * MEGA, about.duration / 20);
  }

  /** Takes in what happened up to `now`. */
  take(frame: ColumnFrame, now: number): void {
    for (let at = 0; at < frame.packets.length; at += RECORD) this.record(frame.packets.subarray(at, at + RECORD));
    for (let at = 0; at < frame.answers.length; at += 3) {
      const [flow, sentAt, time] = frame.answers.subarray(at, at + 3) as unknown as [number, number, number];
      this.answers.push({ flow, sentAt, time });
    }
    const last = this.samples.at(-1);
    if (last === undefined || now - last.at >= Math.min(50 * MEGA, this.step)) {
      const flows: FlowState[] = [];
      for (let at = 0; at < frame.flows.length; at += FLOW) {
        const [delivered, cwnd, inFlight, srtt, retransmits] = frame.flows.subarray(at, at + FLOW) as unknown as [
          number, number, number, number, number,
        ];
        flows.push({ delivered, cwnd, inFlight, srtt, retransmits });
      }
      this.samples.push({ at: now, flows });
    }
  }

  private record(record: Float64Array): void {
    const [type, number, time, a, b, c, d, e] = record as unknown as [
      number, number, number, number, number, number, number, number,
    ];
    const side: Side = type >= 2 ? UP : DOWN;
    if (type % 2 === 0) {
      const packet: Packet = {
        number, side, flow: a, bytes: b, kind: KINDS[(c % 4) as 0 | 1 | 2] ?? "data", isCapable: c >= 8,
        arrived: time, found: [d, e], left: Infinity, sent: Infinity, fate: 0, isMarked: false,
      };
      this.packets.push(packet);
      if (packet.kind === "ping") this.remember("ping", packet);
      this.queued[side].set(number, packet);
      this.peak[side] = Math.max(this.peak[side], e + b);
      this.bin(time).backlog[side] = d + 1;
      return;
    }
    const packet = this.queued[side].get(number);
    if (packet === undefined) return;
    if (a === 0 && !this.separates[side]) {
      const [first] = this.queued[side].values();
      this.separates[side] = first !== undefined && first !== packet && first.flow !== packet.flow;
    }
    this.queued[side].delete(number);
    const bin = this.bin(time);
    bin.backlog[side] = d;
    if (a === 0) bin.sojourn[side] = Math.max(bin.sojourn[side], time - packet.arrived);
    packet.left = time;
    packet.sent = b;
    packet.fate = a;
    packet.isMarked = c === 1;
    if (a > 0) {
      this.drops[side] += 1;
      this.remember("drop", packet);
    }
    if (c === 1) {
      this.marks[side] += 1;
      this.remember("mark", packet);
    }
  }

  /** The step of the history that holds this time, which is not before the last one. */
  private bin(time: number): Bin {
    const at = Math.floor(time / this.step) * this.step;
    const last = this.history.at(-1);
    if (last !== undefined && last.at >= at) return last;
    const next: Bin = { at, sojourn: [0, 0], backlog: last === undefined ? [0, 0] : [...last.backlog] };
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

  /** Time that a sent packet takes from the link to its host. */
  wayBehind(packet: Packet): number {
    return (this.rtt[packet.flow] ?? 0) / 2;
  }

  /** Forgets packets that can no longer be seen at `now`. A dropped packet falls for some time. */
  forget(now: number, fall: number): void {
    this.packets = this.packets.filter(
      (packet) => packet.sent + (packet.fate === 0 ? this.wayBehind(packet) : fall) > now,
    );
  }

  /** Time that a ping of a flow takes at `now`: that of the last answer, or longer if one has been waiting. */
  ping(now: number, flow = this.probe): { time: number; isWaiting: boolean } | null {
    const answered = this.answersUntil(now, flow);
    const last = answered.at(-1);
    const since = last?.sentAt ?? -1;
    const open = this.packets.find(
      (packet) => packet.flow === flow && packet.kind === "ping" && packet.side === UP && packet.arrived > since && packet.arrived <= now && packet.fate === 0,
    );
    const age = open === undefined ? 0 : now - open.arrived;
    if (last === undefined) return open === undefined ? null : { time: age, isWaiting: true };
    return age > last.time ? { time: age, isWaiting: true } : { time: last.time, isWaiting: false };
  }

  /** Answers to the pings of a flow that have arrived by `now`. */
  answersUntil(now: number, flow = this.probe): Answer[] {
    return this.answers.filter((answer) => answer.flow === flow && answer.sentAt + answer.time <= now);
  }

  /** Goodput of a flow in Mbit/s over the second before `now`, or over a 20th of a shorter run. */
  goodput(flow: number, now: number): number {
    const until = this.sampleAt(now);
    const from = this.sampleAt(now - this.window) ?? { at: 0, flows: [] };
    if (until === undefined || until.at <= from.at) return 0;
    const bytes = (until.flows[flow]?.delivered ?? 0) - (from.flows[flow]?.delivered ?? 0);
    return (bytes * 8 * 1e3) / (until.at - from.at);
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

  /** Packets and bytes in the queue of a side at `now`. */
  held(side: Side, now: number): { packets: number; bytes: number } {
    const held = { packets: 0, bytes: 0 };
    for (const packet of this.packets) {
      if (packet.side === side && packet.arrived <= now && packet.left > now) {
        held.packets += 1;
        held.bytes += packet.bytes;
      }
    }
    return held;
  }

  /** Number of flows that have data in the queue of a side at `now`. */
  flowsIn(side: Side, now: number): number {
    const there = (packet: Packet) => packet.side === side && packet.kind === "data" && packet.arrived <= now && packet.left > now;
    return new Set(this.packets.filter(there).map((packet) => packet.flow)).size;
  }

  /** The next time after `now` at which a packet leaves a queue, as far as it is known. */
  nextEnd(now: number): number {
    let next = Infinity;
    for (const packet of this.packets) if (packet.left > now && packet.left < next) next = packet.left;
    return next;
  }
}
