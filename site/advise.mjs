// The page that asks for a line, at /advise/, and the way there from its old address in the playground.

/**
 * Returns the page for a folder beside the playground's, with the playground's files. `html`: the page as it is in the
 * playground.
 */
export function advisePage(html) {
  const moved = html.replace(/(href|src)="(style\.css|advise\.js)"/g, '$1="../playground/$2"');
  if (moved.match(/\.\.\/playground\//g)?.length !== 2) throw new Error("the page of advice has other files than its style sheet and its script");
  return moved;
}

/** Returns the script of the old address. The question is behind the `#`, which only a script can take along. */
export const MOVED = 'location.replace(`../advise/${location.search}${location.hash}`);\n';

/** Returns the page of the old address, which loads that script. */
export function movedPage(script) {
  return [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    "<title>goodqueue: the setting for your line</title>",
    '<link rel="canonical" href="../advise/">',
    `<script src="${script}"></script>`,
    "</head>",
    '<body><p>This page has moved: <a href="../advise/">the setting for your line</a>.</p></body>',
    "</html>",
    "",
  ].join("\n");
}
