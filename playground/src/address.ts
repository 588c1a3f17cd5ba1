// What the address of the page says: the settings, a lesson, the version that made a link.

import { LESSONS, type Lesson } from "./lessons.ts";
import { fromHash, type Settings } from "./settings.ts";

/** True in a frame of another page: only the sentence, the clock and the columns are shown. */
export const IS_EMBEDDED = new URLSearchParams(location.search).has("embed");

/** The lesson that the address names. */
export function lessonOf(hash: string): Lesson | null {
  const id = entries(hash).get("lesson");
  return LESSONS.find((lesson) => lesson.id === id) ?? null;
}

/** The settings that the address names: those of its lesson, if it has nothing else. */
export function settingsAt(hash: string): Settings {
  const lesson = lessonOf(hash);
  const others = [...entries(hash).keys()].filter((key) => key !== "lesson" && key !== "v");
  return lesson !== null && others.length === 0 ? lesson.settings : fromHash(hash);
}

/** The version that made the link; null if the address names none. */
export function versionOf(hash: string): string | null {
  return entries(hash).get("v");
}

/** One line that shows this page in another one. */
export function frame(): string {
  const address = `${location.origin}${location.pathname}?embed${location.hash}`;
  return `<iframe src="${address.replaceAll("&", "&amp;")}" width="100%" height="700" title="Queues of goodqueue"></iframe>`;
}

function entries(hash: string): URLSearchParams {
  return new URLSearchParams(hash.replace(/^#/, ""));
}
