// The picture of one column: two pipes, each with its queue, its link and the way behind it.
//
// Packets of a queue lie on a belt that moves at the rate of the link, so their place is the number
// of bytes ahead of them. A queue that separates flows has a belt for each flow.

import { FALL } from "./player.ts";
import { DOWN, UP, type Packet, type Side, type Track } from "./track.ts";

export interface Look {
  ink: string;
  faint: string;
  paper: string;
  pipe: string;
  alarm: string;
  colours: string[];
  isNarrow: boolean;
  /** Number of the packet that the user asks, or null. */
  asked: number | null;
}

export interface Place {
  packet: Packet;
  x: number;
  y: number;
  radius: number;
}

/** Heights in CSS pixels. */
interface Heights {
  head: number;
  pipe: number;
  gap: number;
}

function heights(isNarrow: boolean): Heights {
  return isNarrow ? { head: 18, pipe: 42, gap: 14 } : { head: 22, pipe: 64, gap: 26 };
}

/** Returns the height of the picture. */
export function heightOf(isNarrow: boolean): number {
  const { head, pipe, gap } = heights(isNarrow);
  return 2 * (head + pipe) + gap + 8;
}

/** Parts of the width: the end of the queue, and the end of the link. */
const EXIT = 0.66;
const WIRE = 0.76;

export class Scene {
  /** What was drawn where, for the pointer and the keyboard. */
  places: Place[] = [];
  private seen = new Map<number, number>();
  private scale: [number, number] = [30_000, 30_000];

  constructor(private readonly context: CanvasRenderingContext2D) {}

  /** Draws the column at `now`. `room` is the number of bytes that the queue has place for. */
  draw(track: Track, now: number, look: Look, size: { width: number; ratio: number }, room: [number, number], speed: number): void {
    const { context } = this;
    context.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
    const { head, pipe, gap } = heights(look.isNarrow);
    context.clearRect(0, 0, size.width, heightOf(look.isNarrow));
    this.places = [];
    const kept = new Map<number, number>();
    for (const side of [UP, DOWN] as const) {
      const top = side === UP ? head : head * 2 + pipe + gap;
      this.scale[side] += (Math.max(30_000, room[side]) - this.scale[side]) * 0.1;
      this.pipe(track, now, look, size.width, side, [top, pipe], speed, kept);
    }
    this.seen = kept;
    const asked = this.places.find(({ packet }) => packet.number === look.asked);
    if (asked !== undefined) {
      context.beginPath();
      context.arc(asked.x, asked.y, Math.max(12, asked.radius + 4), 0, 7);
      context.lineWidth = 3;
      context.strokeStyle = look.ink;
      context.stroke();
    }
  }

  /** The packet at this point, or the nearest one within a finger's width. */
  at(x: number, y: number): Packet | null {
    let [best, least] = [null as Packet | null, 22];
    for (const place of this.places) {
      const beyond = Math.max(0, Math.hypot((place.x - x) * 1, (place.y - y) * 0.35) - Math.min(place.radius, 12) * 0.3);
      // A ping lies above the others.
      const distance = place.packet.kind === "ping" ? beyond - 6 : beyond;
      if (distance < least) [best, least] = [place.packet, distance];
    }
    return best;
  }

  /** The packet beside this one in the picture, from the left to the right and from the top down. */
  beside(number: number | null, step: 1 | -1): Packet | null {
    const order = [...this.places].sort((a, b) => a.packet.side === b.packet.side ? a.x - b.x : b.packet.side - a.packet.side);
    if (order.length === 0) return null;
    const found = order.findIndex(({ packet }) => packet.number === number);
    const next = found < 0 ? (step > 0 ? 0 : order.length - 1) : (found + step + order.length) % order.length;
    return order[next]?.packet ?? null;
  }

  private pipe(
    track: Track, now: number, look: Look, width: number, side: Side, [top, high]: [number, number], speed: number, kept: Map<number, number>,
  ): void {
    const { context } = this;
    const turned = side === DOWN;
    const place = (x: number) => (turned ? width - x : x);
    const [edge, exit, wire] = [10, width * EXIT, width * WIRE];
    const middle = top + high / 2;

    const waiting: Packet[] = [];
    const away: Packet[] = [];
    let wired: Packet | undefined;
    for (const packet of track.packets) {
      if (packet.side !== side || packet.arrived > now) continue;
      if (packet.left > now) waiting.push(packet);
      else away.push(packet);
      if (packet.left <= now && packet.sent > now) wired = packet;
    }
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = look.faint;
    context.textBaseline = "alphabetic";
    context.textAlign = turned ? "right" : "left";
    const name = turned ? "to the client" : "to the Internet";
    context.fillText(`${turned ? "← " : ""}queue ${name}: ${waiting.length} packet${waiting.length === 1 ? "" : "s"}${turned ? "" : " →"}`, place(edge), top - 7);

    // The pipe narrows where the queue ends.
    context.beginPath();
    context.moveTo(place(edge), top);
    context.lineTo(place(exit), top);
    context.lineTo(place(exit + 14), middle - 9);
    context.lineTo(place(width - 4), middle - 9);
    context.lineTo(place(width - 4), middle + 9);
    context.lineTo(place(exit + 14), middle + 9);
    context.lineTo(place(exit), top + high);
    context.lineTo(place(edge), top + high);
    context.closePath();
    context.fillStyle = look.pipe;
    context.fill();

    const lanes = track.separates[side] ? [...new Set(waiting.map((packet) => packet.flow))].sort((a, b) => a - b) : [];
    const lane = (packet: Packet) => Math.max(0, lanes.indexOf(packet.flow));
    const count = Math.max(1, lanes.length);
    const laneHeight = (high - 8) / count;
    const ahead = new Array<number>(count).fill(0);
    const perByte = (exit - edge - 6) / this.scale[side];
    // On a single belt the packet that is being sent still pushes those behind it.
    if (wired !== undefined && count === 1) {
      ahead[0] = wired.bytes * ((wired.sent - now) / Math.max(1, wired.sent - wired.left));
    }
    const pings: [Packet, number, number][] = [];
    for (const packet of waiting) {
      const row = lane(packet);
      const before = ahead[row] ?? 0;
      ahead[row] = before + packet.bytes;
      const aim = exit - 3 - before * perByte;
      const last = this.seen.get(packet.number);
      const x = last === undefined || speed === 0 ? aim : last + (aim - last) * 0.4;
      kept.set(packet.number, x);
      const length = Math.max(1.2, packet.bytes * perByte - (packet.bytes * perByte > 3 ? 1 : 0));
      const y = top + 4 + row * laneHeight;
      if (packet.kind === "ping") {
        pings.push([packet, x, y + laneHeight / 2]);
        continue;
      }
      if (x - length < edge - 40) continue;
      context.fillStyle = look.colours[packet.flow] ?? look.faint;
      const tall = packet.kind === "ack" ? laneHeight * 0.4 : laneHeight - 2;
      const low = y + (laneHeight - tall) / 2;
      context.fillRect(turned ? place(x) : x - length, low, length, tall);
      this.places.push({ packet, x: place(x - length / 2), y: y + laneHeight / 2, radius: Math.max(5, length / 2) });
    }

    for (const packet of away) {
      if (packet.fate > 0) this.falling(packet, now, look, place, top + high, speed, exit - 3 - packet.found[1] * perByte);
      else this.travelling(packet, now, track, look, place, { exit, wire, end: width - 4, middle }, pings);
    }
    for (const [packet, x, y] of pings) this.ping(packet, place(Math.max(edge, x)), y, look);
  }

  private travelling(
    packet: Packet, now: number, track: Track, look: Look, place: (x: number) => number,
    at: { exit: number; wire: number; end: number; middle: number }, pings: [Packet, number, number][],
  ): void {
    const way = track.wayBehind(packet);
    let x: number;
    if (now < packet.sent) x = at.exit + (at.wire - at.exit) * ((now - packet.left) / (packet.sent - packet.left));
    else if (way > 0 && now < packet.sent + way) x = at.wire + (at.end - at.wire) * ((now - packet.sent) / way);
    else return;
    if (packet.kind === "ping") {
      pings.push([packet, x, at.middle]);
      return;
    }
    const { context } = this;
    context.fillStyle = look.colours[packet.flow] ?? look.faint;
    const [wide, high] = packet.kind === "ack" ? [3, 6] : [7, 12];
    context.fillRect(place(x) - wide / 2, at.middle - high / 2, wide, high);
    if (packet.isMarked) {
      context.strokeStyle = look.alarm;
      context.lineWidth = 2;
      context.strokeRect(place(x) - wide / 2 - 1, at.middle - high / 2 - 1, wide + 2, high + 2);
    }
    this.places.push({ packet, x: place(x), y: at.middle, radius: 7 });
  }

  /** A dropped packet falls out of the pipe. */
  private falling(packet: Packet, now: number, look: Look, place: (x: number) => number, bottom: number, speed: number, x: number): void {
    const since = (now - packet.left) / 1e6 / (speed || 1);
    if (since < 0 || since > FALL) return;
    const { context } = this;
    const part = since / FALL;
    const y = bottom + 2 + part * 20;
    const at = place(Math.max(14, this.seen.get(packet.number) ?? x));
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
    this.places.push({ packet, x: at, y, radius: 8 });
  }

  /** A ping is a diamond that nothing hides. */
  private ping(packet: Packet, x: number, y: number, look: Look): void {
    const { context } = this;
    const radius = 9;
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
    this.places.push({ packet, x, y, radius: radius + 2 });
  }
}
