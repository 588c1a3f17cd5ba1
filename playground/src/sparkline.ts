// A small curve of ping times.

import type { Answer } from "./track.ts";

/** Draws the pings sent in the last `span` nanoseconds. */
export function sparkline(
  context: CanvasRenderingContext2D, answers: Answer[], now: number, span: number, top: number,
  size: { width: number; height: number; ratio: number }, colour: string, faint: string,
): void {
  context.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  const from = Math.max(0, now - span);
  const x = (at: number) => ((at - from) / span) * (size.width - 4) + 2;
  const y = (time: number) => size.height - 3 - (time / top) * (size.height - 6);
  context.strokeStyle = faint;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(0, size.height - 2.5);
  context.lineTo(size.width, size.height - 2.5);
  context.stroke();
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = 2;
  context.beginPath();
  const points = answers.filter((answer) => answer.sentAt + answer.time <= now && answer.sentAt >= from);
  points.forEach((answer, index) => {
    if (index === 0) context.moveTo(x(answer.sentAt), y(answer.time));
    else context.lineTo(x(answer.sentAt), y(answer.time));
  });
  context.stroke();
  for (const answer of points) {
    context.beginPath();
    context.arc(x(answer.sentAt), y(answer.time), 2, 0, 7);
    context.fill();
  }
}
