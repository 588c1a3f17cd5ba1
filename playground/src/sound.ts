// Pings that can be heard: a high tone for a fast one, a low tone for one that has waited. The first
// column sounds from the left, the last one from the right.

import type { Track } from "./track.ts";

const SECONDS = 0.07;
/** Tone of a ping on an idle line, and the lowest tone. */
const [HIGH, LOW] = [1046, 98];

/** Returns the frequency in Hz of a ping with this time, on a line that needs `base`. */
export function tone(time: number, base: number): number {
  return Math.max(LOW, HIGH * Math.min(1, base / time));
}

export class Sound {
  private readonly context = new AudioContext();
  private before = 0;

  /** Plays the pings that were answered since the last call. */
  play(tracks: Track[], now: number, base: number): void {
    const since = this.before;
    this.before = now;
    // After a jump nobody wants to hear all of them.
    if (now <= since || now - since > 2e9) return;
    tracks.forEach((track, column) => {
      for (const answer of track.answers.slice(-20)) {
        if (answer.flow !== track.probe) continue;
        const at = answer.sentAt + answer.time;
        if (at > since && at <= now) this.beep(tone(answer.time, base), tracks.length > 1 ? (2 * column) / (tracks.length - 1) - 1 : 0);
      }
    });
  }

  private beep(frequency: number, pan: number): void {
    const { context } = this;
    const [oscillator, gain, panner] = [context.createOscillator(), context.createGain(), context.createStereoPanner()];
    oscillator.frequency.value = frequency;
    panner.pan.value = pan * 0.8;
    gain.gain.setValueAtTime(0.15, context.currentTime);
    gain.gain.exponentialRampToValueAtTime(0.001, context.currentTime + SECONDS);
    oscillator.connect(gain).connect(panner).connect(context.destination);
    oscillator.start();
    oscillator.stop(context.currentTime + SECONDS);
  }

  close(): void {
    void this.context.close();
  }
}
