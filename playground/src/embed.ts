// Tells the page around a frame how high this page is.
// A frame does not grow by itself and would cut a row.

/** Tells the page around this one how high this one is: now, at every change, and when asked. Returns how to end that. */
export function tellHeight(): () => void {
  if (window.parent === window) return () => undefined;
  // Everybody may know the height.
  const tell = () => window.parent.postMessage({ type: "goodqueue:height", height: document.documentElement.offsetHeight }, "*");
  const asked = ({ source, data }: MessageEvent<{ type?: unknown } | null>) => {
    if (source === window.parent && data?.type === "goodqueue:height?") tell();
  };
  const observer = new ResizeObserver(tell);
  observer.observe(document.documentElement);
  window.addEventListener("message", asked);
  return () => {
    observer.disconnect();
    window.removeEventListener("message", asked);
  };
}
