// The geometry of one pipe of the picture, and which packets are in it.

import type { Packet } from "./track.ts";

/** A queue and its link, in CSS pixels. Packets move from left to right, or the other way round if it is turned. */
export interface Belt {
  packets: Packet[];
  /** True if each flow has a row of its own. */
  separates: boolean;
  turned: boolean;
  /** Where on the screen something is that far along the pipe. */
  place(x: number): number;
  /** The beginning of the queue, its end, the beginning of the line, and its end. */
  edge: number;
  exit: number;
  wire: number;
  end: number;
  top: number;
  high: number;
  middle: number;
  perByte: number;
}

/** A ping, and where it is. Pings are drawn last. */
export interface Ping {
  packet: Packet;
  x: number;
  y: number;
}

/** What a queue holds. */
export interface Held {
  waiting: number;
  /** The packet that is being sent. */
  wired: Packet | undefined;
  /** True at the number of each flow that waits. */
  flows: boolean[];
}

/** Packets are in the order of their arrival. */
export function heldAt(packets: Packet[], now: number): Held {
  const held: Held = { waiting: 0, wired: undefined, flows: [] };
  for (const packet of packets) {
    if (packet.arrived > now) break;
    if (packet.left > now) {
      held.waiting += 1;
      held.flows[packet.flow] = true;
    } else if (packet.sent > now) held.wired = packet;
  }
  return held;
}
