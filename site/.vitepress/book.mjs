// The order of the book's pages.

export const book = [
  {
    text: "Start",
    items: [
      { text: "Advice for your line", link: "/advice" },
      { text: "Tutorial", link: "/tutorial" },
      { text: "Concepts", link: "/concepts" },
      { text: "Playground", link: "/playground" },
    ],
  },
  {
    text: "Work",
    items: [
      { text: "Scenarios", link: "/scenarios" },
      { text: "Sweeps", link: "/sweeps" },
      { text: "Metrics", link: "/metrics" },
      { text: "Results", link: "/results" },
      { text: "Live", link: "/live" },
      { text: "Test a transport", link: "/transports" },
      { text: "Is your CoDel the kernel's?", link: "/judge" },
      { text: "QUIC beside TCP", link: "/quic" },
      { text: "Continuous integration", link: "/ci" },
      { text: "Install", link: "/install" },
      { text: "Python", link: "/python" },
      { text: "Gallery", link: "/gallery" },
      { text: "Agents", link: "/agents" },
    ],
  },
  {
    text: "Look up",
    items: [
      { text: "All pages", link: "/book" },
      { text: "Disciplines", link: "/disciplines/" },
      { text: "Papers", link: "/papers" },
      { text: "Every claim", link: "/audit" },
      { text: "Measured numbers", link: "/numbers" },
      { text: "Speed", link: "/speed" },
      { text: "Promised and measured", link: "/promised" },
      { text: "From Linux 6.1 to 7.3", link: "/linux-7.3" },
      { text: "Claims about WiFi", link: "/wifi-claims" },
      { text: "L4S over WiFi and LTE", link: "/l4s" },
      { text: "L4S tests, row by row", link: "/l4s-tests" },
      { text: "Deviations", link: "/deviations" },
      { text: "Limitations", link: "/limitations" },
      { text: "Reproducibility", link: "/reproducibility" },
      { text: "Compared with other tools", link: "/compare" },
      { text: "Design", link: "/design" },
    ],
  },
];
