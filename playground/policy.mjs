// The content security policy of the pages. A link may bring any text, so nothing but the page's own
// files may run: no script in the page's text, and no script of another site.

export const POLICY = [
  "default-src 'none'",
  // The simulator is a WebAssembly module.
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "connect-src 'self'",
  // The chart library sets colours of its tooltips as attributes. Attributes run nothing.
  "style-src 'self'",
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data:",
  // The page of advice shows the playground in a frame.
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** Returns a page with the policy in it. */
export function withPolicy(html) {
  const place = '<meta charset="utf-8">\n';
  if (!html.includes(place)) throw new Error("the page has no line for its policy");
  return html.replace(place, `${place}<meta http-equiv="Content-Security-Policy" content="${POLICY}">\n`);
}
