//! A server that sheds load. It gets more requests than it can answer for ten seconds. How long do
//! clients wait, and how many get a useful answer?
//!
//! ```sh
//! cargo run --package goodqueue --example shed
//! ```
//!
//! The server has its own queue and one worker, which takes 1 ms per request. A client gives up
//! after 100 ms, so that a later answer is wasted work. Three policies: keep everything, a limit of
//! 1,000 requests, and CoDel's control law, which sees only how long each request has waited.

use std::collections::VecDeque;

use goodqueue::codel::{CodelConfig, Controller, Waiting};
use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::{ConfigError, Duration, Instant, Verdict};

const SERVICE: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_millis(100);

/// When each request arrives: 500 per second, and 1,300 per second from second 5 to second 15.
fn arrivals() -> Vec<Instant> {
    let mut random = Xoshiro256PlusPlus::new(1);
    let mut all = Vec::new();
    for micros in 0..30_000_000 {
        let per_second = if (5_000_000..15_000_000).contains(&micros) { 1_300 } else { 500 };
        if random.below(1_000_000) < per_second {
            all.push(Instant::ZERO + Duration::from_micros(micros));
        }
    }
    all
}

fn main() -> Result<(), ConfigError> {
    let config = CodelConfig::default()
        .with_target(Duration::from_millis(10))?
        .with_interval(Duration::from_millis(100))?;
    println!("policy            useful   too late   rejected   median wait   longest wait");
    let all = serve("keep everything", usize::MAX, None);
    let limited = serve("at most 1,000", 1_000, None);
    let codel = serve("CoDel", usize::MAX, Some(Controller::new(&config)));
    assert!(codel > limited && codel > all, "CoDel gives the most useful answers");
    Ok(())
}

/// Serves all requests and returns how many answers were in time.
fn serve(policy: &str, limit: usize, mut codel: Option<Controller>) -> usize {
    let mut arrivals = arrivals().into_iter().peekable();
    let mut queue: VecDeque<Instant> = VecDeque::new();
    let mut waits = Vec::new();
    let (mut rejected, mut now) = (0, Instant::ZERO);
    while arrivals.peek().is_some() || !queue.is_empty() {
        while let Some(came) = arrivals.next_if(|came| *came <= now) {
            if queue.len() < limit {
                queue.push_back(came);
            } else {
                rejected += 1;
            }
        }
        let Some(came) = queue.pop_front() else {
            // Sleep until the next request.
            if let Some(codel) = &mut codel {
                codel.emptied();
            }
            now = arrivals.peek().copied().unwrap_or(now);
            continue;
        };
        let sojourn = now.since(came);
        let request = Waiting { sojourn, is_last: queue.is_empty(), can_mark: false };
        if codel.as_mut().is_some_and(|codel| codel.judge(now, request) == Verdict::Drop) {
            // An immediate error is cheap, and the client can try another server.
            rejected += 1;
            continue;
        }
        waits.push(sojourn);
        now += SERVICE;
    }
    waits.sort_unstable();
    let useful = waits.iter().filter(|wait| **wait < PATIENCE).count();
    let [median, longest] =
        [waits.len() / 2, waits.len() - 1].map(|place| waits[place].as_nanos() / 1_000_000);
    println!(
        "{policy:15} {useful:8}   {:8}   {rejected:8}   {median:8} ms   {longest:9} ms",
        waits.len() - useful
    );
    useful
}
