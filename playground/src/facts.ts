// What the page itself knows of one packet, in sentences.

import { DOWN, type Packet } from "./track.ts";
import { ms } from "./words.ts";

/** Why queues drop packets, by the names that results use. */
const REASONS: Record<string, string> = {
  congested: "The discipline decided so: the drop tells the sender to slow down.",
  overlimit: "The queue was full.",
  overmemory: "The memory of the queue was full.",
  flow_limit: "The part of the queue that its flow may use was full.",
  oversize: "It is larger than anything that the discipline can send.",
  purged: "The discipline was emptied.",
  lost: "An emulated network lost it.",
  superseded: "It was an acknowledgement, and a later one says all that it said.",
};

export function seconds(nanos: number): string {
  return `${(nanos / 1e9).toFixed(6)} s`;
}

function count(packets: number, bytes: number): string {
  return packets === 0 ? "an empty queue" : `${packets} packet${packets === 1 ? "" : "s"} with ${bytes.toLocaleString("en")} bytes in the queue`;
}

/** Returns the title and the sentences of a packet at `now`. */
export function facts(packet: Packet, place: string | null, now: number, flow: string, reasons: string[]): { title: string; lines: string[] } {
  const kind = packet.kind === "ack" ? `acknowledgement of the ${flow}` : packet.kind === "ping" ? "ping" : `packet of the ${flow}`;
  const title = `Packet ${packet.number}: ${kind}, ${packet.bytes} bytes ${packet.side === DOWN ? "to the client" : "to the Internet"}${place === null ? "" : `, at the ${place}`}`;
  const lines = [`It arrived at ${seconds(packet.arrived)} and found ${count(...packet.found)}.`];
  const waited = ms(Math.min(packet.left, now) - packet.arrived);
  if (packet.left > now) {
    lines.push(`It has waited for ${waited}.`);
  } else if (packet.fate > 0) {
    const reason = reasons[packet.fate - 1] ?? "";
    lines.push(packet.left === packet.arrived ? "It was dropped on arrival." : `It was dropped after ${waited} in the queue.`);
    lines.push(REASONS[reason] ?? `The reason is ${reason}.`);
  } else {
    lines.push(`It left the queue after ${waited}.`);
    if (packet.isMarked) lines.push("The discipline marked it (ECN): the mark tells the sender to slow down, and nothing is lost.");
    if (packet.sent > packet.left) lines.push(`Its last bit was on the line at ${seconds(packet.sent)}.`);
  }
  return { title, lines };
}
