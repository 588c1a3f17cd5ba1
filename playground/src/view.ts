// What the reader chose: the settings, the lesson, the speed.

import { useRef, useState } from "preact/hooks";
import { IS_EMBEDDED, lessonOf, settingsAt } from "./address.ts";
import { isNew } from "./guide.tsx";
import { isMade, type Lesson } from "./lessons.ts";
import type { Player } from "./player.ts";
import { presetOf } from "./presets.ts";
import { wantsCalm } from "./screen.ts";
import type { Settings } from "./settings.ts";

export function useView() {
  const [settings, setSettings] = useState<Settings>(() => settingsAt(location.hash));
  const [lesson, setLesson] = useState<Lesson | null>(() => lessonOf(location.hash));
  const [done, setDone] = useState<boolean[]>(() => untouched(lessonOf(location.hash)));
  const [isGuided, setGuided] = useState(() => !IS_EMBEDDED && location.hash === "" && isNew());
  const [isPlaying, setPlaying] = useState(() => !wantsCalm());
  const [speed, setSpeed] = useState(() => lessonOf(location.hash)?.speed ?? presetOf(settingsAt(location.hash))?.speed ?? "0.5");
  // The clock's callback outlives a render and reads these.
  const present = useRef({ settings, lesson, done });
  present.current = { settings, lesson, done };

  /** Ticks off the next step of the lesson if it can be observed now. */
  function observe(tracks: Player["tracks"], now: number): void {
    const { lesson: running, done: before, settings: made } = present.current;
    const at = before.indexOf(false);
    const step = running?.steps[at];
    if (step !== undefined && isMade(step, made) && step.seen(tracks, now)) {
      setDone(before.map((is, index) => is || index === at));
    }
  }

  /** Begins a lesson, or ends the running one. */
  function take(chosen: Lesson | null): void {
    setLesson(chosen);
    present.current.lesson = chosen;
    if (chosen !== null) setDone(untouched(chosen));
  }

  return {
    settings, setSettings, lesson, take, done, observe, isGuided, setGuided, isPlaying, setPlaying, speed, setSpeed,
    /** The lesson that runs now, also for a caller of an earlier render. */
    running: () => present.current.lesson,
  };
}

export type View = ReturnType<typeof useView>;

/** The steps of a lesson, none of which is done. */
function untouched(lesson: Lesson | null): boolean[] {
  return lesson?.steps.map(() => false) ?? [];
}
