// Pages of the book on the site: links between pages stay, those to files lead to the repository.

import path from "node:path";

export const REPOSITORY = "https://github.com/goodqueue/goodqueue";

/** Pages of other folders that the site has, by their path in the repository. */
export const PAGES = new Map([
  ["README.md", "/"],
  ["crates/goodqueue-papers/papers", "/papers"],
  ["crates/goodqueue-papers/papers/AUDIT.md", "/audit"],
  ...["gbw", "gong", "jk", "l4s", "nj", "rfc7928"].map((paper) => [`crates/goodqueue-papers/papers/${paper}/CLAIMS.md`, `/claims-${paper}`]),
  ["python/README.md", "/python"],
]);

/** Returns the address of a page of the book. `name`: of its file, without extension. `/advise` is the page that asks for a line. */
export function bookPage(name) {
  const own = { README: "book", advise: "advice" };
  return `/${own[name] ?? name.toLowerCase()}`;
}

/** Returns a page with its links rewritten. `folder`: its folder in the repository. */
export function withSiteLinks(text, folder) {
  return text.replace(/\]\(([^)\s]+)\)/g, (whole, target) => {
    if (/^(https?:|#|mailto:|\/)/.test(target)) return whole;
    const [file, anchor] = target.split("#");
    const place = path.posix.normalize(path.posix.join(folder, file));
    const suffix = anchor ? `#${anchor}` : "";
    if (PAGES.has(place)) return `](${PAGES.get(place)}${suffix})`;
    if (place.startsWith("docs/images/")) return `](./images/${path.posix.basename(place)})`;
    if (place.startsWith("docs/") && place.endsWith(".md")) {
      return `](${bookPage(path.posix.basename(place, ".md"))}${suffix})`;
    }
    return `](${REPOSITORY}/blob/main/${place}${suffix})`;
  });
}

/** Returns text of rustdoc without links between items, which the site does not have. */
export function withoutItemLinks(text) {
  return text.replace(/\[(`[^`\]]+`)\](\([^)]*\))?(?!\()/g, "$1");
}

/** Returns a page that takes the whole width: its diagrams have up to 118 columns, its tables up to eight. */
export function wide(text) {
  return `---\npageClass: wide\naside: false\n---\n\n${text}`;
}
