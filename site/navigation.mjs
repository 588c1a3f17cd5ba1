// The way back to the site from pages that other programs wrote.

const LINKS = [["index.html", "goodqueue"], ["papers.html", "Papers"], ["audit.html", "Every claim"], ["book.html", "Book"]];

/**
 * Returns a report with links to the site at its top. `root`: the site's folder, seen from the report. The links have no
 * style of their own, because the report's policy allows only its own style sheet.
 */
export function withNavigation(html, root) {
  const body = html.match(/<body[^>]*>\n?/);
  if (body === null) throw new Error("the report has no <body>, so the site cannot put its navigation there");
  const links = LINKS.map(([page, text]) => `<a href="${root}${page}">${text}</a>`).join(" · ");
  const at = body.index + body[0].length;
  return `${html.slice(0, at)}<nav aria-label="Site"><p>← ${links}</p></nav>\n${html.slice(at)}`;
}
