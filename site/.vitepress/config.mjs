// The site: search, menus, and how Markdown is read.

import { book } from "./book.mjs";

export default {
  title: "goodqueue",
  description: "What queue disciplines do to latency and throughput on your link, with your traffic",
  lang: "en",
  srcDir: "content",
  // Files of other tools, which are copied as they are.
  srcExclude: ["public/**"],
  outDir: "dist",
  // The folder on the host, such as /goodqueue/.
  base: process.env.SITE_BASE ?? "/",
  cleanUrls: false,
  // What other tools build is not in the list of pages.
  ignoreDeadLinks: [/^\/(advise|playground|rustdoc|papers)\//, /^\/report\.html$/],
  markdown: {
    languageAlias: { wat: "wasm" },
    // Words in angle brackets are placeholders, not elements.
    config: (markdown) => {
      const render = markdown.renderer.rules.text;
      markdown.renderer.rules.text = (tokens, index, options, environment, self) => {
        const text = render ? render(tokens, index, options, environment, self) : tokens[index].content;
        return text.replaceAll("{{", "&#123;&#123;");
      };
    },
  },
  themeConfig: {
    search: { provider: "local" },
    nav: [
      { text: "Playground", link: "/playground/index.html", target: "_self" },
      { text: "Your line", link: "/advise/index.html", target: "_self" },
      { text: "Book", link: "/book" },
      { text: "Disciplines", link: "/disciplines/" },
      { text: "Papers", link: "/papers" },
      { text: "Library", link: "/rustdoc/goodqueue/index.html", target: "_self" },
    ],
    sidebar: book,
    outline: { level: [2, 3] },
    socialLinks: [{ icon: "github", link: "https://github.com/goodqueue/goodqueue" }],
  },
};
