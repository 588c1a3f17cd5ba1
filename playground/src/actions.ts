// What the reader can do with the page.

import { settingsAt, lessonOf } from "./address.ts";
import type { Lesson } from "./lessons.ts";
import { PRESETS, presetOf, settingsOf } from "./presets.ts";
import type { Run } from "./run.ts";
import { wantsCalm } from "./screen.ts";
import { FIRST, ofScenario, request, toHash, type Settings } from "./settings.ts";
import type { Packet } from "./track.ts";
import type { View } from "./view.ts";

export function actions(view: View, run: Run) {
  const { player } = run;

  /** Shows these settings from this time on, in nanoseconds. */
  function show(next: Settings, from = 0): void {
    view.setSettings(next);
    // The guide tells of the first sight.
    view.setGuided(false);
    run.setAsked(null);
    const lesson = view.running();
    const hash = toHash(next, run.catalogue?.version ?? "");
    const address = lesson === null ? hash : `${hash || "#"}&lesson=${lesson.id}`;
    history.replaceState(null, "", address || location.pathname + location.search);
    player.load(request(next), from);
  }

  /** Shows settings from their start, at the top of the page. */
  function begin(settings: Settings, speed: string): void {
    view.setSpeed(speed);
    show(settings);
    view.setPlaying(!wantsCalm());
    window.scrollTo({ top: 0 });
  }

  function learn(chosen: Lesson | null): void {
    view.take(chosen);
    if (chosen === null) return show(view.settings);
    begin(chosen.settings, chosen.speed);
  }

  /** Shows the first sight again, with its guide. */
  function guide(): void {
    view.take(null);
    begin(FIRST, presetOf(FIRST)?.speed ?? "0.5");
    view.setGuided(true);
  }

  /** Shows a preset, or a built-in scenario. */
  function choose(value: string): void {
    const preset = PRESETS.find(({ name }) => name === value);
    if (preset !== undefined) view.setSpeed(preset.speed);
    show(preset === undefined ? ofScenario({ builtin: value }) : settingsOf(preset));
    view.setPlaying(!wantsCalm());
  }

  /** Shows what the address names. */
  function follow(hash: string): void {
    const next = settingsAt(hash);
    view.take(lessonOf(hash));
    view.setSettings(next);
    view.setGuided(false);
    player.load(request(next));
  }

  function play(): void {
    run.setAsked(null);
    if (player.isOver) return restart();
    view.setPlaying(!view.isPlaying);
  }

  function step(): void {
    run.setAsked(null);
    view.setPlaying(false);
    player.step();
  }

  function restart(): void {
    player.load(request(view.settings));
    view.setPlaying(true);
  }

  /** Pauses, and shows what is known of a packet. */
  function ask(column: number, packet: Packet | null): void {
    if (packet === null) return run.setAsked(null);
    player.isPlaying = false;
    view.setPlaying(false);
    run.setAsked({ column, packet, now: player.now, story: null });
    // The command tells stories of the compared disciplines only.
    if (packet.left <= player.now && packet.queue < 2) player.tell(column, packet.number);
  }

  return { show, learn, guide, choose, follow, play, step, restart, ask };
}

export type Actions = ReturnType<typeof actions>;
