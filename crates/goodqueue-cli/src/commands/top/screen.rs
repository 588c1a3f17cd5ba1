//! The screen of `goodqueue top`: both queues, the last minute of each, and their flows.

use std::path::Path;
use std::time::Duration;

use goodqueue_scenario::number::with_digits;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Borders, Paragraph, Row, Sparkline, Table, TableState};
use serde_json::Value;

use super::fetch::fetch;
use super::numbers::{milliseconds, numbers, whole};
use crate::commands::{Ending, Outcome};

/// Contents of the screen, and the choices made with keys.
#[derive(Debug)]
pub(super) struct Screen {
    stats: Value,
    order: SortOrder,
    rows: TableState,
    /// The error of the last update, if the values are old.
    trouble: Option<String>,
}

/// Sort orders of the flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SortOrder {
    Queued,
    Rate,
    Sojourn,
    Drops,
}

impl SortOrder {
    const fn next(self) -> Self {
        match self {
            Self::Queued => Self::Rate,
            Self::Rate => Self::Sojourn,
            Self::Sojourn => Self::Drops,
            Self::Drops => Self::Queued,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Rate => "rate",
            Self::Sojourn => "sojourn",
            Self::Drops => "drops",
        }
    }

    /// The field of a flow in the JSON.
    const fn field(self) -> &'static str {
        match self {
            Self::Queued => "queued_packets",
            Self::Rate => "throughput_bps",
            Self::Sojourn => "sojourn_mean_s",
            Self::Drops => "dropped",
        }
    }
}

/// Shows the bottleneck at `control` until the user presses q or the bottleneck ends.
pub(super) fn watch(control: &Path, stats: Value) -> Outcome {
    let mut screen = Screen::new(stats);
    let mut terminal = ratatui::try_init().map_err(|error| trouble(&error))?;
    let outcome = loop {
        if let Err(error) = terminal.draw(|frame| screen.draw(frame)) {
            break Err(trouble(&error));
        }
        match event::poll(REFRESH) {
            Ok(true) => match event::read() {
                // Some terminals report the release of a key as well.
                Ok(Event::Key(key)) if key.kind == KeyEventKind::Press && screen.press(key) => {
                    break Ok(None);
                }
                // A key shows its effect at once, without new statistics.
                Ok(_) => continue,
                Err(error) => break Err(trouble(&error)),
            },
            Ok(false) => {}
            Err(error) => break Err(trouble(&error)),
        }
        match fetch(control) {
            Ok(stats) => {
                screen.stats = stats;
                screen.trouble = None;
            }
            // A bottleneck removes its socket when it ends.
            Err(_) if !control.exists() => break Ok(Some("the bottleneck has ended")),
            Err(error) => screen.trouble = Some(error.problem().to_owned()),
        }
    };
    ratatui::restore();
    // The alternate screen is left by now, so the message stays visible.
    if let Some(why) = outcome? {
        crate::messages::say(format_args!("goodqueue: {why}"));
    }
    Ok(Ending::Done)
}

fn trouble(error: &std::io::Error) -> Diagnostic {
    Diagnostic::new(format!("this terminal cannot be used: {error}")).help("`--once` prints plain text")
}

impl Screen {
    pub(super) fn new(stats: Value) -> Self {
        let rows = TableState::default().with_selected(0);
        Self { stats, order: SortOrder::Queued, rows, trouble: None }
    }

    /// Handles a key. Returns true if it ends the view.
    fn press(&mut self, key: KeyEvent) -> bool {
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return true,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return true,
            KeyCode::Char('s') => self.order = self.order.next(),
            KeyCode::Down | KeyCode::Char('j') => self.rows.select_next(),
            KeyCode::Up | KeyCode::Char('k') => self.rows.select_previous(),
            KeyCode::PageDown => self.rows.scroll_down_by(10),
            KeyCode::PageUp => self.rows.scroll_up_by(10),
            KeyCode::Home => self.rows.select_first(),
            _ => {}
        }
        false
    }

    pub(super) fn draw(&mut self, frame: &mut Frame<'_>) {
        let lines = self.head(usize::from(frame.area().width));
        let height = u16::try_from(lines.len()).unwrap_or(1);
        let [head, queues, flows, foot] = Layout::vertical([
            Constraint::Length(height),
            Constraint::Length(QUEUE_LINES),
            Constraint::Min(3),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        frame.render_widget(Paragraph::new(lines), head);
        let [down, up] = Layout::horizontal([Constraint::Fill(1); 2]).spacing(1).areas(queues);
        self.draw_queue(frame, down, "down");
        self.draw_queue(frame, up, "up");
        self.draw_flows(frame, flows);
        let keys = format!(" q quit   s sort by {}   up/down scroll", self.order.next().name());
        frame.render_widget(Paragraph::new(keys).dim(), foot);
    }

    /// Returns the lines above the queues: one, or more in a narrow terminal.
    fn head(&self, width: usize) -> Vec<Line<'static>> {
        let process = &self.stats["process"];
        let lost: u64 = ["client", "server"]
            .iter()
            .map(|side| self.stats[side]["interface_dropped"].as_u64().unwrap_or(0))
            .sum();
        let latest = process["latest_s"].as_f64().unwrap_or(0.0);
        let mut parts = vec![
            Span::raw(format!("{} s", whole(self.stats["duration_s"].as_f64().unwrap_or(0.0)))),
            Span::raw(format!(
                "memory for packets {}",
                units::show_size(process["memory_bytes"].as_u64().unwrap_or(0))
            )),
            warned(format!("worst wake-up delay {:.1} ms", latest * 1e3), latest > VERY_LATE),
            warned(format!("dropped before the bottleneck {lost}"), lost > 0),
        ];
        if let Some(trouble) = &self.trouble {
            parts.push(warned(trouble.clone(), true));
        }
        let mut lines = vec![Line::from(" goodqueue".bold())];
        for part in parts {
            match lines.last_mut().filter(|line| line.width() + GAP.len() + part.width() <= width) {
                Some(line) => line.spans.extend([Span::raw(GAP), part]),
                None => lines.push(Line::from(vec![Span::raw(" "), part])),
            }
        }
        lines
    }

    fn draw_queue(&self, frame: &mut Frame<'_>, area: Rect, name: &str) {
        let link = &self.stats[name];
        let history = &self.stats["history"];
        let block = Block::new().borders(Borders::TOP).border_style(Style::new().fg(Color::DarkGray)).title(
            Line::from(vec![
                format!(" {name} ").bold(),
                Span::raw(format!("{} ", link["qdisc"].as_str().unwrap_or("?"))),
            ]),
        );
        let inside = block.inner(area);
        frame.render_widget(block, area);
        let [text, spark, scale] =
            // Together with the border these are the lines of `QUEUE_LINES`.
            Layout::vertical([Constraint::Length(6), Constraint::Length(3), Constraint::Length(1)])
                .areas(inside);

        let past = &history[name];
        let step = history["step_s"].as_f64().unwrap_or(0.25);
        let bytes = numbers(&past["bytes"]);
        // The last second, as on the plain page.
        let now = bytes.iter().rev().take(4).sum::<f64>() * 8.0 / (step * bytes.len().clamp(1, 4) as f64);
        let limit = match link["rate_bps"].as_f64().unwrap_or(0.0) {
            limit if limit > 0.0 => format!(
                "{} ({:.0} %)",
                units::show_rate(goodqueue::Rate::from_bps(whole(limit))),
                // A step counts whole packets, so that a short time may hold more than the rate.
                (now / limit * 100.0).min(100.0)
            ),
            _ => "no limit".to_owned(),
        };
        let drops: Vec<String> = link["drops"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(reason, count)| format!("{reason} {count}"))
            .collect();
        let lines = [
            ("rate", format!("{} of {limit}", short_rate(now))),
            (
                "queued",
                format!(
                    "{} packets, {}",
                    link["queued"]["packets"],
                    units::show_size(link["queued"]["bytes"].as_u64().unwrap_or(0))
                ),
            ),
            ("sojourn", percentiles(&link["sojourn_s"])),
            ("recent", percentiles(&self.stats["recent"][name])),
            (
                "dropped",
                match drops.is_empty() {
                    true => "0".to_owned(),
                    false => format!("{}: {}", link["packets"]["dropped"], drops.join(", ")),
                },
            ),
            ("marked", format!("{} of {} sent", link["packets"]["marked"], link["packets"]["dequeued"])),
        ];
        let lines = lines
            .map(|(what, how)| Line::from(vec![format!(" {what:8}").fg(Color::DarkGray), Span::raw(how)]));
        frame.render_widget(Paragraph::new(lines.to_vec()), text);

        // Sojourn times in microseconds, the newest at the right.
        let means: Vec<u64> = numbers(&past["sojourn_mean_s"]).iter().map(|s| whole(s * 1e6)).collect();
        let width = usize::from(spark.width.saturating_sub(2));
        let shown = &means[means.len().saturating_sub(width)..];
        let most = shown.iter().copied().max().unwrap_or(0);
        let [_, spark] = Layout::horizontal([Constraint::Length(1), Constraint::Fill(1)]).areas(spark);
        frame.render_widget(
            Sparkline::default().data(shown).max(most.max(LEAST_SCALE)).style(Style::new().fg(colour(most))),
            spark,
        );
        let span = step * shown.len() as f64;
        let scale_text = format!(" sojourn time, last {span:.0} s, up to {:.1} ms", most as f64 / 1e3);
        frame.render_widget(Paragraph::new(scale_text).fg(Color::DarkGray), scale);
    }

    fn draw_flows(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let mut flows: Vec<(&str, &Value)> = ["down", "up"]
            .into_iter()
            .flat_map(|side| {
                let of = self.stats["flows"][side].as_array();
                of.into_iter().flatten().map(move |flow| (side, flow))
            })
            .collect();
        let by = |flow: &Value, order: SortOrder| flow[order.field()].as_f64().unwrap_or(0.0);
        let order = self.order;
        flows.sort_by(|one, other| {
            // Most flows have nothing queued and no drops. Among these the rate decides.
            let of = |flow: &Value| (by(flow, order), by(flow, SortOrder::Rate));
            // JSON has no NaN, so all numbers can be compared.
            of(other.1).partial_cmp(&of(one.1)).unwrap_or(std::cmp::Ordering::Equal)
        });
        let count = flows.len();
        let width = area.width.saturating_sub(BESIDE_ADDRESSES);
        let rows = flows.into_iter().map(|(side, flow)| {
            let text = |field: &str| flow[field].as_str().unwrap_or_default().to_owned();
            let between = match text("source") {
                // The table of flows is bounded. What is beyond it is one entry without addresses.
                source if source.is_empty() && text("protocol").is_empty() => vec!["all others".to_owned()],
                source => addresses(&source, &text("destination"), usize::from(width)),
            };
            let height = u16::try_from(between.len()).unwrap_or(1);
            let drops = flow["dropped"].as_u64().unwrap_or(0);
            Row::new([
                Text::from(side),
                Text::from(text("protocol")),
                Text::from(between.join("\n")),
                right(short_rate(flow["throughput_bps"].as_f64().unwrap_or(0.0))).into(),
                right(flow["queued_packets"].to_string()).into(),
                right(milliseconds(&flow["sojourn_mean_s"])).into(),
                right(drops.to_string()).into(),
                right(flow["marked"].to_string()).into(),
            ])
            .height(height)
        });
        let widths = [
            Constraint::Length(4),
            Constraint::Length(6),
            Constraint::Fill(1),
            Constraint::Length(11),
            Constraint::Length(6),
            Constraint::Length(7),
            Constraint::Length(6),
            Constraint::Length(6),
        ];
        let head = Row::new([
            Line::from("way"),
            Line::from("proto"),
            Line::from("flow"),
            right("rate".to_owned()),
            right("queued".to_owned()),
            right("ms".to_owned()),
            right("drops".to_owned()),
            right("marks".to_owned()),
        ])
        .style(Style::new().add_modifier(Modifier::BOLD));
        let title = format!(" {count} flows, by {} ", self.order.name());
        let table = Table::new(rows, widths)
            .header(head)
            .block(
                Block::new()
                    .borders(Borders::TOP)
                    .border_style(Style::new().fg(Color::DarkGray))
                    .title(title.bold()),
            )
            .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
        frame.render_stateful_widget(table, area, &mut self.rows);
    }
}

fn percentiles(of: &Value) -> String {
    let [p50, p95, p99] = ["p50", "p95", "p99"].map(|name| milliseconds(&of[name]));
    format!("p50 {p50}  p95 {p95}  p99 {p99} ms")
}

/// Returns both ends of a flow in one line of `width` columns, or in two.
fn addresses(source: &str, destination: &str, width: usize) -> Vec<String> {
    let both = format!("{source} > {destination}");
    if both.chars().count() <= width {
        return vec![both];
    }
    vec![shortened(source, width), shortened(&format!("> {destination}"), width)]
}

/// Cuts the middle out of an address that is longer than `width`: networks differ in the first
/// groups of IPv6 addresses, hosts and ports in the last.
fn shortened(address: &str, width: usize) -> String {
    let length = address.chars().count();
    // Three columns are the least with a letter at either side of the ellipsis.
    if length <= width || width < 3 {
        return address.to_owned();
    }
    let last = (width - 1) * 3 / 5;
    let first: String = address.chars().take(width - 1 - last).collect();
    let rest: String = address.chars().skip(length - last).collect();
    format!("{first}…{rest}")
}

/// Formats a rate with three digits.
fn short_rate(bps: f64) -> String {
    let (value, unit) = match bps {
        bps if bps >= 1e9 => (bps / 1e9, "Gbit/s"),
        bps if bps >= 1e6 => (bps / 1e6, "Mbit/s"),
        bps => (bps / 1e3, "kbit/s"),
    };
    format!("{} {unit}", with_digits(value, 3, 2))
}

fn right(text: String) -> Line<'static> {
    Line::from(text).alignment(Alignment::Right)
}

fn warned(text: String, is_bad: bool) -> Span<'static> {
    if is_bad { text.fg(Color::Red) } else { Span::raw(text) }
}

/// Returns the colour of a sojourn time in microseconds: unnoticeable, harmful to games, harmful to
/// everything.
const fn colour(most: u64) -> Color {
    match most {
        0..=20_000 => Color::Green,
        20_001..=100_000 => Color::Yellow,
        _ => Color::Red,
    }
}

const REFRESH: Duration = Duration::from_millis(500);
// The border, six lines of text, three of the chart and its scale.
const QUEUE_LINES: u16 = 11;
/// Smallest full height of the chart in microseconds: an idle queue draws a flat line.
const LEAST_SCALE: u64 = 5_000;
/// Between the parts of the head.
const GAP: &str = "   ";
// The other seven columns have 46, and each of the seven gaps has one.
/// Columns of the table of flows beside the addresses, with the gaps.
const BESIDE_ADDRESSES: u16 = 53;
/// Wake-up delay in seconds that the bottleneck itself warns about.
const VERY_LATE: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use serde_json::json;

    fn stats() -> Value {
        let flow = |source: &str, queued: u64, rate: u64| {
            json!({"protocol": "TCP", "source": source, "destination": "198.18.0.1:4000", "throughput_bps": rate,
                   "sojourn_mean_s": 0.0123, "queued_packets": queued, "dropped": 3, "marked": 1})
        };
        let link = json!({
            "qdisc": "fq_codel", "rate_bps": 10_000_000.0, "queued": {"packets": 7, "bytes": 10_000},
            "sojourn_s": {"p50": 0.005, "p95": 0.02, "p99": 0.04}, "drops": {"congested": 4, "overlimit": 2},
            "packets": {"dequeued": 100, "marked": 9, "dropped": 6},
        });
        json!({
            "duration_s": 12.3, "down": link, "up": link,
            "history": {"step_s": 0.25, "down": {"bytes": [156_250, 156_250], "sojourn_mean_s": [0.001, 0.15]}},
            "flows": {"down": [flow("198.18.0.2:80", 2, 5_000_000), flow("198.18.0.2:19", 5, 1_000_000)], "up": []},
        })
    }

    fn drawn(screen: &mut Screen, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| line(y).trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn the_screen_shows_queues_flows_and_why_packets_were_dropped() {
        let mut screen = Screen::new(stats());
        let text = drawn(&mut screen, 100, 24);
        for part in [
            "down fq_codel",
            // Two steps of 250 ms with 156,250 bytes each.
            "5.00 Mbit/s of 10 Mbit/s (50 %)",
            "7 packets",
            "p50 5.0  p95 20.0  p99 40.0 ms",
            "6: congested 4, overlimit 2",
            "9 of 100 sent",
            "up to 150.0 ms",
            "2 flows, by queued",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        let at = |needle: &str| text.find(needle).unwrap();
        assert!(at("198.18.0.2:19") < at("198.18.0.2:80"), "most queued first");
        screen.press(KeyEvent::from(KeyCode::Char('s')));
        let text = drawn(&mut screen, 100, 24);
        let at = |needle: &str| text.find(needle).unwrap();
        assert!(at("198.18.0.2:80") < at("198.18.0.2:19"), "fastest first");
        assert!(screen.press(KeyEvent::from(KeyCode::Char('q'))));
    }

    #[test]
    fn the_head_takes_more_lines_in_a_narrow_terminal_and_is_never_cut() {
        let mut stats = stats();
        stats["process"] = json!({"memory_bytes": 33_554_432, "latest_s": 0.0123});
        stats["client"] = json!({"interface_dropped": 1_234_567});
        let all = ["goodqueue", "12 s", "32 MiB", "worst wake-up delay 12.3 ms", "bottleneck 1234567"];
        for (width, lines) in [(120, 1), (80, 2), (70, 2), (60, 3), (42, 4)] {
            let mut screen = Screen::new(stats.clone());
            let text = drawn(&mut screen, width, 30);
            let head: Vec<&str> = text.lines().take_while(|line| !line.contains("fq_codel")).collect();
            for part in all {
                assert!(head.iter().any(|line| line.contains(part)), "{part} at {width} columns:\n{text}");
            }
            assert_eq!(head.len(), lines, "{width} columns:\n{text}");
        }
    }

    #[test]
    fn ipv6_addresses_take_two_lines_and_keep_network_host_and_port() {
        let [source, destination] =
            ["[2001:db8:1:2:3:4:5:6]:443", "[2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff]:50000"];
        assert_eq!(addresses("10.0.0.1:80", "10.0.0.2:9", 27), ["10.0.0.1:80 > 10.0.0.2:9"]);
        assert_eq!(addresses(source, destination, 27), [source, "> [2001:db8…eee:ffff]:50000"]);
        let mut stats = stats();
        stats["flows"]["down"][0]["source"] = json!(source);
        stats["flows"]["down"][0]["destination"] = json!(destination);
        let text = drawn(&mut Screen::new(stats), 80, 24);
        assert!(text.contains(source) && text.contains("ffff]:50000"), "{text}");
    }

    #[test]
    fn the_last_seconds_stand_beside_the_run_and_an_idle_queue_draws_a_flat_line() {
        let mut stats = stats();
        stats["recent"] = json!({"down": {"p50": 0.001, "p95": 0.002, "p99": 0.003}});
        stats["history"]["down"]["sojourn_mean_s"] = json!([0.000_02, 0.000_05, 0.000_01]);
        let text = drawn(&mut Screen::new(stats), 100, 24);
        assert!(text.contains("p50 1.0  p95 2.0  p99 3.0 ms"), "{text}");
        assert!(!text.contains('█'), "50 µs are not a full bar:\n{text}");
    }

    #[test]
    fn it_fits_every_terminal_and_shows_whatever_comes() {
        for (width, height) in [(1, 1), (20, 5), (80, 24), (300, 100)] {
            drawn(&mut Screen::new(stats()), width, height);
            drawn(&mut Screen::new(Value::Null), width, height);
        }
    }
}
