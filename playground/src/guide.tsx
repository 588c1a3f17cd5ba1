// The guided start: four sentences in 20 seconds, for somebody who has never seen a queue.

import { useEffect, useState } from "preact/hooks";

export interface GuideStep {
  /** The part of the page that the step is about, as `data-guide` of the page. */
  part: "way" | "ping" | "scene" | "next";
  say: string;
}

/** Milliseconds of a step. */
export const STEP = 5000;

export const GUIDE: GuideStep[] = [
  {
    part: "way",
    say: "You are at home, on the left. A modem connects you to the Internet. Two uploads and a download share the line.",
  },
  {
    part: "ping",
    say: "The yellow diamond is a ping: a small packet that is answered at once. The large number is the time that it takes. Calls, games and clicks wait as long.",
  },
  {
    part: "scene",
    say: "Both pictures have the same traffic. In the first one the uploads fill a large buffer, and every ping waits behind them. This is bufferbloat. In the second one each flow has a queue of its own, and the ping passes.",
  },
  {
    part: "next",
    say: "Click any packet: it tells its story. Change a line above a picture, or begin with a lesson of five minutes.",
  },
];

/** Where the browser keeps that the guide has been seen. */
const KEY = "goodqueue.guide";

/** True if this browser has not shown the guide to its end. A browser that keeps nothing shows it each time. */
export function isNew(): boolean {
  try {
    return localStorage.getItem(KEY) === null;
  } catch {
    return true;
  }
}

function remember(): void {
  try {
    localStorage.setItem(KEY, "seen");
  } catch {
    // The browser keeps nothing.
  }
}

/** `isRunning`: the steps follow each other by themselves, as long as the clock runs. */
export function Guide({ isRunning, onStep, onEnd }: { isRunning: boolean; onStep(part: GuideStep["part"]): void; onEnd(): void }) {
  const [at, go] = useState(0);
  const step = GUIDE[at];
  const isLast = at === GUIDE.length - 1;
  const end = () => {
    remember();
    onEnd();
  };
  const next = () => (isLast ? end() : go(at + 1));

  useEffect(() => {
    if (step !== undefined) onStep(step.part);
    if (!isRunning) return;
    const timer = window.setTimeout(next, STEP);
    return () => window.clearTimeout(timer);
  }, [at, isRunning]);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => event.key === "Escape" && end();
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);

  return (
    <section class="guide" aria-label="Guided start">
      <p aria-live="polite"><small>{at + 1} of {GUIDE.length}</small> {step?.say}</p>
      <div>
        <button onClick={end}>Skip</button>
        <button class="main" onClick={next}>{isLast ? "Done" : "Next"}</button>
      </div>
    </section>
  );
}
