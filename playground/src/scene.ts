// The picture of one column: a pipe for each queue, with its link and the way behind it, in the
// order in which packets pass them.
//
// Packets of a queue lie on a belt that moves at the rate of the link, so their place is the number
// of bytes ahead of them. A queue that separates flows has a belt for each flow.

import { heldAt, type Belt, type Held, type Ping } from "./belt.ts";
import { FALL } from "./player.ts";
import { wayOf } from "./plain.ts";
import type { About } from "./protocol.ts";
import { DOWN, UP, queueOf, type Packet, type QueueId, type Track } from "./track.ts";

export interface Look {
  ink: string;
  faint: string;
  paper: string;
  pipe: string;
  alarm: string;
  colours: string[];
  isNarrow: boolean;
  /** The packet that the user asks, or null. */
  asked: number | null;
}

export interface Place {
  packet: Packet;
  x: number;
  y: number;
  radius: number;
}

/** A pipe of the picture. */
export interface Row {
  queue: QueueId;
  /** What waits there, such as `modem`. */
  name: string;
  /** Where its packets go: `Internet`. */
  to: string;
}

/** Returns the pipes of a column from the top down: the way to the Internet, and the way back. */
export function rowsOf(about: About, column: number): Row[] {
  const kinds = about.columns[column]?.kinds ?? ["", ""];
  const name = (place: number, side: 0 | 1) => {
    const given = about.places[place]?.name ?? null;
    return given ?? (about.places.length > 1 ? `queue (${kinds[side]})` : "queue");
  };
  const way = wayOf(about);
  const [home = "", far = ""] = [way[0], way.at(-1)];
  const to = (end: string) => (end === "home" ? "to your home" : `to the ${end}`);
  const up = [...about.order].reverse().map((place) => ({ queue: queueOf(place, UP), name: name(place, UP), to: to(far) }));
  const down = about.order.map((place) => ({ queue: queueOf(place, DOWN), name: name(place, DOWN), to: to(home) }));
  return [...up, ...down];
}

/** Heights in CSS pixels. */
interface Heights {
  head: number;
  pipe: number;
  gap: number;
}

function heights(isNarrow: boolean, rows: number): Heights {
  if (rows > 2) return isNarrow ? { head: 18, pipe: 34, gap: 10 } : { head: 20, pipe: 48, gap: 16 };
  return isNarrow ? { head: 18, pipe: 42, gap: 14 } : { head: 22, pipe: 64, gap: 26 };
}

/** Parts of the width: the end of the queue, and the end of the link. */
const EXIT = 0.66;
const WIRE = 0.76;

/** Half of a ping's width, its border included. */
const PING = 10;

/** What a picture shows. */
interface Frame {
  track: Track;
  now: number;
  look: Look;
  size: { width: number; ratio: number };
  room: number[];
  speed: number;
}

export class Scene {
  /** What is drawn where; null if nobody has asked since the last frame. */
  private known: Place[] | null = null;
  private places: Place[] | null = null;
  private frame: Frame | null = null;
  private asked: { x: number; y: number; radius: number } | null = null;
  private readonly scale: number[];

  constructor(private readonly context: CanvasRenderingContext2D, private readonly rows: Row[]) {
    this.scale = rows.map(() => 30_000);
  }

  /** The height of the picture. */
  height(isNarrow: boolean): number {
    const { head, pipe, gap } = heights(isNarrow, this.rows.length);
    return this.rows.length * (head + pipe + gap) - gap + 8;
  }

  /** Draws the column at `now`. `room` is the number of bytes that each queue has place for. */
  draw(track: Track, now: number, look: Look, size: { width: number; ratio: number }, room: number[], speed: number): void {
    this.frame = { track, now, look, size, room, speed };
    this.known = null;
    this.rows.forEach((row, index) => {
      const scale = this.scale[index] ?? 30_000;
      this.scale[index] = scale + (Math.max(30_000, room[row.queue] ?? 0) - scale) * 0.1;
    });
    this.paint(this.frame);
  }

  /** The packet at this point, or the nearest one within a finger's width. */
  at(x: number, y: number): Packet | null {
    let [best, least] = [null as Packet | null, 22];
    for (const place of this.all()) {
      const beyond = Math.max(0, Math.hypot((place.x - x) * 1, (place.y - y) * 0.35) - Math.min(place.radius, 12) * 0.3);
      // A ping lies above the others.
      const distance = place.packet.kind === "ping" ? beyond - 6 : beyond;
      if (distance < least) [best, least] = [place.packet, distance];
    }
    return best;
  }

  /** The packet beside this one in the picture, from the left to the right and from the top down. */
  beside(id: number | null, step: 1 | -1): Packet | null {
    const row = (packet: Packet) => this.rows.findIndex(({ queue }) => queue === packet.queue);
    const order = [...this.all()].sort((a, b) => row(a.packet) - row(b.packet) || a.x - b.x);
    if (order.length === 0) return null;
    const found = order.findIndex(({ packet }) => packet.id === id);
    const next = found < 0 ? (step > 0 ? 0 : order.length - 1) : (found + step + order.length) % order.length;
    return order[next]?.packet ?? null;
  }

  /** What is drawn where. The same picture is drawn once more, so that other frames need no list. */
  private all(): Place[] {
    if (this.known === null && this.frame !== null) {
      this.places = [];
      this.paint(this.frame);
      this.known = this.places;
      this.places = null;
    }
    return this.known ?? [];
  }

  private paint(frame: Frame): void {
    const { context } = this;
    const { look, size } = frame;
    const { head, pipe, gap } = heights(look.isNarrow, this.rows.length);
    context.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
    // The canvas is opaque, so that the browser need not blend it with the page.
    context.fillStyle = look.paper;
    context.fillRect(0, 0, size.width, this.height(look.isNarrow));
    this.asked = null;
    this.rows.forEach((row, index) => this.pipe(frame, row, this.scale[index] ?? 30_000, head + index * (head + pipe + gap), pipe));
    if (this.asked === null) return;
    const { x, y, radius } = this.asked as Omit<Place, "packet">;
    context.beginPath();
    context.arc(x, y, Math.max(12, radius + 4), 0, 7);
    context.lineWidth = 3;
    context.strokeStyle = look.ink;
    context.stroke();
  }

  /** Notes where a packet is drawn, if somebody wants to know. */
  private put(packet: Packet, x: number, y: number, radius: number): void {
    if (packet.id === this.frame?.look.asked) this.asked = { x, y, radius };
    this.places?.push({ packet, x, y, radius });
  }

  private pipe(frame: Frame, row: Row, scale: number, top: number, high: number): void {
    const { context } = this;
    const { track, now, look, size: { width }, speed } = frame;
    const turned = row.queue % 2 === DOWN;
    const [edge, exit] = [10, width * EXIT];
    const belt: Belt = {
      packets: track.lanes[row.queue] ?? [],
      separates: track.separates[row.queue] === true,
      turned,
      place: (x) => (turned ? width - x : x),
      edge, exit, wire: width * WIRE, end: width - 4,
      top, high, middle: top + high / 2,
      perByte: (exit - edge - 6) / scale,
    };
    const held = heldAt(belt.packets, now);
    this.title(row, belt, held.waiting, look);
    this.outline(belt, look);
    // A queue that grows faster than its scale is longer than the pipe for a moment.
    // Nothing is drawn outside.
    context.save();
    context.clip();
    const pings = this.waiting(frame, belt, held);
    let drawn = -1;
    for (const packet of belt.packets) {
      if (packet.arrived > now) break;
      if (packet.left <= now && packet.fate === 0) drawn = this.travelling(packet, frame, belt, pings, drawn);
    }
    // Dropped packets fall out of the pipe, and pings lie above everything.
    context.restore();
    for (const packet of belt.packets) {
      if (packet.arrived > now) break;
      if (packet.left <= now && packet.fate > 0) this.falling(packet, now, look, belt, speed);
    }
    for (const { packet, x, y } of pings) this.ping(packet, belt.place(Math.min(belt.end - PING, Math.max(edge + PING, x))), y, look);
  }

  private title({ name, to }: Row, { turned, place, edge, top }: Belt, waiting: number, look: Look): void {
    const { context } = this;
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = look.faint;
    context.textBaseline = "alphabetic";
    context.textAlign = turned ? "right" : "left";
    context.fillText(`${turned ? "← " : ""}${name} ${to}: ${waiting} packet${waiting === 1 ? "" : "s"}${turned ? "" : " →"}`, place(edge), top - 7);
  }

  /** The pipe narrows where the queue ends. */
  private outline({ place, edge, exit, end, top, high, middle }: Belt, look: Look): void {
    const { context } = this;
    context.beginPath();
    context.moveTo(place(edge), top);
    context.lineTo(place(exit), top);
    context.lineTo(place(exit + 14), middle - 9);
    context.lineTo(place(end), middle - 9);
    context.lineTo(place(end), middle + 9);
    context.lineTo(place(exit + 14), middle + 9);
    context.lineTo(place(exit), top + high);
    context.lineTo(place(edge), top + high);
    context.closePath();
    context.fillStyle = look.pipe;
    context.fill();
  }

  /** Draws the packets in the queue, each flow in a row of its own where the discipline separates them. Returns the pings. */
  private waiting(frame: Frame, belt: Belt, { wired, flows }: Held): Ping[] {
    const { now, speed } = frame;
    const { exit, top, perByte } = belt;
    const rows: number[] = [];
    let count = 0;
    if (belt.separates) flows.forEach((_, flow) => { rows[flow] = count++; });
    count = Math.max(1, count);
    const high = (belt.high - 8) / count;
    const ahead = new Array<number>(count).fill(0);
    const painted = new Array<number>(count).fill(Infinity);
    // On a single belt the packet that is being sent still pushes those behind it.
    if (wired !== undefined && count === 1) {
      ahead[0] = wired.bytes * ((wired.sent - now) / Math.max(1, wired.sent - wired.left));
    }
    const pings: Ping[] = [];
    for (const packet of belt.packets) {
      if (packet.arrived > now) break;
      if (packet.left <= now) continue;
      const row = rows[packet.flow] ?? 0;
      const before = ahead[row] ?? 0;
      ahead[row] = before + packet.bytes;
      const aim = exit - 3 - before * perByte;
      if (this.places === null) packet.x = Number.isNaN(packet.x) || speed === 0 ? aim : packet.x + (aim - packet.x) * 0.4;
      const y = top + 4 + row * high;
      if (packet.kind === "ping") pings.push({ packet, x: packet.x, y: y + high / 2 });
      else painted[row] = this.queued(packet, frame, belt, { y, high }, painted[row] ?? Infinity);
    }
    return pings;
  }

  /** Draws a packet in its row. Returns the leftmost pixel that the row has now. */
  private queued(packet: Packet, { look, size }: Frame, belt: Belt, row: { y: number; high: number }, painted: number): number {
    const { x } = packet;
    const { turned, place } = belt;
    if (x < belt.edge) return painted;
    const exact = packet.bytes * belt.perByte;
    const length = Math.max(1.2, exact - (exact > 3 ? 1 : 0));
    this.put(packet, place(x - length / 2), row.y + row.high / 2, Math.max(5, length / 2));
    // Of several packets within one pixel of the screen only one can be seen.
    const left = Math.floor((x - length) * size.ratio);
    if (left >= painted) return painted;
    const { context } = this;
    context.fillStyle = look.colours[packet.flow] ?? look.faint;
    const tall = packet.kind === "ack" ? row.high * 0.4 : row.high - 2;
    context.fillRect(turned ? place(x) : x - length, row.y + (row.high - tall) / 2, length, tall);
    return left;
  }

  /** Draws a packet on the line, unless another one of its look has just been drawn at that pixel. */
  private travelling(
    packet: Packet, { track, now, look, size }: Frame, at: Belt, pings: Ping[], drawn: number,
  ): number {
    const { place } = at;
    const way = track.wayBehind(packet);
    let x: number;
    if (now < packet.sent) x = at.exit + (at.wire - at.exit) * ((now - packet.left) / (packet.sent - packet.left));
    else if (way > 0 && now < packet.sent + way) x = at.wire + (at.end - at.wire) * ((now - packet.sent) / way);
    else return drawn;
    if (packet.kind === "ping") {
      pings.push({ packet, x, y: at.middle });
      return drawn;
    }
    this.put(packet, place(x), at.middle, 7);
    const pixel = (Math.round(x * size.ratio) * look.colours.length + packet.flow) * 2 + (packet.kind === "ack" ? 1 : 0);
    if (pixel === drawn && !packet.isMarked) return drawn;
    const { context } = this;
    context.fillStyle = look.colours[packet.flow] ?? look.faint;
    const [wide, high] = packet.kind === "ack" ? [3, 6] : [7, 12];
    context.fillRect(place(x) - wide / 2, at.middle - high / 2, wide, high);
    if (packet.isMarked) {
      context.strokeStyle = look.alarm;
      context.lineWidth = 2;
      context.strokeRect(place(x) - wide / 2 - 1, at.middle - high / 2 - 1, wide + 2, high + 2);
    }
    return pixel;
  }

  /** A dropped packet falls out of the pipe. */
  private falling(packet: Packet, now: number, look: Look, belt: Belt, speed: number): void {
    const since = (now - packet.left) / 1e6 / (speed || 1);
    if (since < 0 || since > FALL) return;
    const { context } = this;
    const part = since / FALL;
    const y = belt.top + belt.high + 2 + part * 20;
    // A packet that was never seen waiting falls from where it would have waited.
    const x = Number.isNaN(packet.x) ? belt.exit - 3 - packet.found[1] * belt.perByte : packet.x;
    const at = belt.place(Math.max(14, x));
    context.globalAlpha = 1 - part;
    context.strokeStyle = look.alarm;
    context.lineWidth = 2.5;
    context.beginPath();
    context.moveTo(at - 5, y - 5);
    context.lineTo(at + 5, y + 5);
    context.moveTo(at + 5, y - 5);
    context.lineTo(at - 5, y + 5);
    context.stroke();
    context.globalAlpha = 1;
    this.put(packet, at, y, 8);
  }

  /** A ping is a diamond that nothing hides. */
  private ping(packet: Packet, x: number, y: number, look: Look): void {
    const { context } = this;
    const radius = PING - 1;
    context.beginPath();
    context.moveTo(x, y - radius);
    context.lineTo(x + radius, y);
    context.lineTo(x, y + radius);
    context.lineTo(x - radius, y);
    context.closePath();
    context.fillStyle = look.colours[packet.flow] ?? look.ink;
    context.fill();
    context.lineWidth = 2;
    context.strokeStyle = look.ink;
    context.stroke();
    this.put(packet, x, y, radius + 2);
  }
}
