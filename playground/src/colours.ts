// Colours of flows, told apart by colour-blind people (Okabe and Ito 2008), and shades of the page.

import type { FlowInfo } from "./protocol.ts";

const UPLOADS = ["#0072B2", "#56B4E9", "#004A73", "#8FD0F5", "#2F7FB5", "#A3C4E0", "#1B5E8C", "#6FA8D6"];
const DOWNLOADS = ["#009E73", "#CC79A7", "#00664A", "#E3A9C9", "#4CB893", "#A65585", "#7BD0B2", "#F0CADF"];
const OTHERS = ["#D55E00", "#999999", "#A64B00", "#C4C4C4"];
export const PINGS = ["#F0B400", "#D55E00", "#F0E442", "#A64B00"];

/** Returns a colour for each flow. */
export function coloursOf(flows: FlowInfo[]): string[] {
  const used = { up: 0, down: 0, ping: 0, other: 0 };
  const next = (palette: string[], key: keyof typeof used) => palette[used[key]++ % palette.length] ?? "#999999";
  return flows.map((flow) => {
    if (flow.kind === "ping") return next(PINGS, "ping");
    if (flow.kind !== "tcp") return next(OTHERS, "other");
    return flow.direction === "up" ? next(UPLOADS, "up") : next(DOWNLOADS, "down");
  });
}

/** Returns the name of each flow: `upload 2`, `ping`. */
export function namesOf(flows: FlowInfo[]): string[] {
  const word = (flow: FlowInfo) =>
    flow.label ?? (flow.kind === "tcp" ? (flow.direction === "up" ? "upload" : "download") : flow.kind);
  const words = flows.map(word);
  const seen = new Map<string, number>();
  return words.map((name) => {
    if (words.filter((other) => other === name).length === 1) return name;
    seen.set(name, (seen.get(name) ?? 0) + 1);
    return `${name} ${seen.get(name)}`;
  });
}
