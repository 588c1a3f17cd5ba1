// The runs that the page shows: the player, and what its worker told so far.

import { useMemo, useRef, useState } from "preact/hooks";
import { Player } from "./player.ts";
import type { About, Catalogue, Story } from "./protocol.ts";
import { MOST_PLACES, type Packet } from "./track.ts";

/** The packet that the reader asks, the time at which it is asked, and its story as soon as it is known. */
export interface Asked {
  column: number;
  packet: Packet;
  now: number;
  story: Story | null;
}

interface Listener {
  /** Once per frame of the screen. */
  drawn(player: Player, now: number): void;
  over(): void;
}

export function useRun(listener: Listener) {
  const [catalogue, setCatalogue] = useState<Catalogue | null>(null);
  const [about, setAbout] = useState<About | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [json, setJson] = useState<string | null>(null);
  /** The results of the run so far, and the time up to which it was measured. */
  const [partial, setPartial] = useState<{ json: string; at: number } | null>(null);
  const [asked, setAsked] = useState<Asked | null>(null);
  const loads = useRef(0);
  // The player is made once and calls the listener of the last render.
  const heard = useRef(listener);
  heard.current = listener;

  const player = useMemo(() => {
    /** Nothing of an earlier run is left: no table, no results, no story. */
    const forget = () => {
      setJson(null);
      setPartial(null);
      setAsked(null);
    };
    const made: Player = new Player({
      ready: setCatalogue,
      loaded: (info) => {
        loads.current += 1;
        forget();
        setError(null);
        setAbout(info);
      },
      refused: (message) => {
        forget();
        setError(message);
      },
      drawn: (now) => heard.current.drawn(made, now),
      told: (column, number, story) =>
        setAsked((before) => (before?.column === column && before.packet.id === number * MOST_PLACES ? { ...before, story } : before)),
      measured: (text, at) => setPartial({ json: text, at }),
      over: (text) => {
        setJson(text);
        heard.current.over();
      },
    });
    return made;
  }, []);
  return { player, catalogue, about, error, json, partial, asked, setAsked, loads: loads.current };
}

export type Run = ReturnType<typeof useRun>;
