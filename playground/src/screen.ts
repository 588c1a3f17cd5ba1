// What the reader's screen is like, and what the reader wants of it.

import { useEffect, useState } from "preact/hooks";

/** Widest window of a phone, in CSS pixels. The style sheet has the same. */
const PHONE = "(max-width: 480px)";

/** True on a phone, also after it is turned. */
export function usePhone(): boolean {
  const [is, set] = useState(() => window.matchMedia(PHONE).matches);
  useEffect(() => {
    const query = window.matchMedia(PHONE);
    const changed = () => set(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return is;
}

/** True if nothing shall move by itself. */
export function wantsCalm(): boolean {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}
