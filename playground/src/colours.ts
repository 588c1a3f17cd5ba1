// Colours of flows, told apart by colour-blind people (Okabe and Ito 2008), and shades of the page.

import { groupsOf, isTransfer } from "./flows.ts";
import type { About } from "./protocol.ts";

const UPLOADS = ["#0072B2", "#56B4E9", "#004A73", "#8FD0F5", "#2F7FB5", "#A3C4E0", "#1B5E8C", "#6FA8D6"];
const DOWNLOADS = ["#009E73", "#CC79A7", "#00664A", "#E3A9C9", "#4CB893", "#A65585", "#7BD0B2", "#F0CADF"];
const OTHERS = ["#D55E00", "#999999", "#A64B00", "#C4C4C4"];
export const PINGS = ["#F0B400", "#D55E00", "#F0E442", "#A64B00"];

/** Returns a colour for each flow. Flows that share a row share a colour. */
export function coloursOf(about: About): string[] {
  const used = { up: 0, down: 0, ping: 0, other: 0 };
  const next = (palette: string[], key: keyof typeof used) => palette[used[key]++ % palette.length] ?? "#999999";
  const colour = (kind: string, direction: "up" | "down") => {
    if (kind === "ping") return next(PINGS, "ping");
    if (!isTransfer(kind)) return next(OTHERS, "other");
    return direction === "up" ? next(UPLOADS, "up") : next(DOWNLOADS, "down");
  };
  const colours: string[] = [];
  for (const { flows, isOneRow } of groupsOf(about)) {
    let shared: string | null = null;
    for (const flow of flows) {
      const { kind, direction } = about.flows[flow] ?? { kind: "tcp", direction: "down" as const };
      shared = isOneRow && shared !== null ? shared : colour(kind, direction);
      colours[flow] = shared;
    }
  }
  return colours;
}
