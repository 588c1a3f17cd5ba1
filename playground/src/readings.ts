// What changes with every picture: the columns, the clock, the sentence and the sound. They are written straight into
// the page, because rendering it sixty times per second would take longer than a picture lasts.

import { createRef } from "preact";
import type { Draw, Moment } from "./column.tsx";
import type { Player } from "./player.ts";
import type { Sound } from "./sound.ts";
import { REFUSED, nameOf, seenIn, sentence } from "./words.ts";

/** Milliseconds between two changes of the numbers and of the sentence, which change together. */
const NUMBERS = 250;
/** Milliseconds between two sentences for a screen reader, which needs time to read. */
const READ_ALOUD = 10_000;

export class Readings {
  readonly clock = createRef<HTMLOutputElement>();
  readonly progress = createRef<HTMLProgressElement>();
  readonly spoken = createRef<HTMLParagraphElement>();
  readonly aloud = createRef<HTMLParagraphElement>();
  /** Draws a column. */
  readonly draws: (Draw | null)[] = [];
  sound: Sound | null = null;
  /** True if the settings were refused, so that the sentence does not tell of an earlier run. */
  isRefused = false;
  /** Called when the numbers change. */
  onNumbers: (tracks: Player["tracks"], now: number) => void = () => undefined;
  private numbers = 0;
  private read = 0;

  draw(player: Player, now: number): void {
    const at = performance.now();
    const changesNumbers = at - this.numbers >= NUMBERS;
    if (changesNumbers) this.numbers = at;
    const { tracks } = player;
    const room = (tracks[0]?.peak ?? []).map((_, queue) => Math.max(...tracks.map((track) => track.peak[queue] ?? 0)));
    const top = changesNumbers ? Math.max(1, ...tracks.flatMap((track) => track.answersUntil(now).map((answer) => answer.time))) : 1;
    // The numbers and the sentence are made of the same readings.
    const pings = changesNumbers ? tracks.map((track) => track.ping(now)) : [];
    const moment: Moment = { now, speed: player.isPlaying ? player.speed : 0, room, top, pings, changesNumbers };
    tracks.forEach((track, index) => this.draws[index]?.(track, moment));
    if (changesNumbers) {
      this.tick(player, now);
      this.onNumbers(tracks, now);
      this.say(player, pings, now, at);
    }
    if (this.sound !== null && player.about !== null && player.isPlaying) {
      const pinged = player.about.flows.filter((flow) => flow.kind === "ping");
      this.sound.play(tracks, now, Math.min(...pinged.map((flow) => flow.rtt)));
    }
  }

  private tick(player: Player, now: number): void {
    if (this.clock.current === null || player.about === null) return;
    this.clock.current.textContent = `${(now / 1e9).toFixed(player.speed < 0.1 ? 3 : 1)} s`;
    if (this.progress.current !== null) this.progress.current.value = now / player.about.duration;
  }

  private say(player: Player, pings: Moment["pings"], now: number, at: number): void {
    const info = player.about;
    const spoken = this.spoken.current;
    if (spoken === null || info === null) return;
    const seen = player.tracks.map((track, index) => seenIn(info, track, nameOf(info, index), pings[index] ?? null, now));
    const text = this.isRefused ? REFUSED : sentence(info, seen);
    if (spoken.textContent !== text) spoken.textContent = text;
    if (this.aloud.current !== null && player.isPlaying && at - this.read >= READ_ALOUD) {
      this.read = at;
      this.aloud.current.textContent = text;
    }
  }
}
