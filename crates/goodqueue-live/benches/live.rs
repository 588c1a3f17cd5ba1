//! Measurements of the live path: rate, delay, throughput and CPU time, compared with a plain veth
//! pair and the kernel's own `tbf`.
//!
//! Run it with `cargo bench -p goodqueue-live` or `make bench-live`. Each measurement has its own
//! process and namespaces and takes `LIVE_SECONDS` (default 10). Words behind `--` select parts by
//! their headings, as in `cargo bench -p goodqueue-live -- idle`.

#![allow(missing_docs, reason = "a program")]

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::net::{IpAddr, Ipv4Addr};
    use std::process::Command;
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use goodqueue::fifo::PfifoConfig;
    use goodqueue::{AnyConfig, Duration, Instant, Rate};
    use goodqueue_link::capacity::Capacity;
    use goodqueue_live::LiveError;
    use goodqueue_live::bottleneck::{BottleneckConfig, DEFAULT_MEMORY};
    use goodqueue_live::clock::Clock;
    use goodqueue_live::link::{Delay, LinkConfig};
    use goodqueue_live::namespace::{self, End, Network, default_ends};
    use goodqueue_live::netlink::{self, Netlink};
    use goodqueue_live::observer::Direction;
    use goodqueue_live::process::{self, Forked};
    use goodqueue_live::session::{Session, SessionOutcome};
    use goodqueue_live::traffic::{Flow, FlowKind, FlowSpec, TcpOptions};
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;

    type Values = Vec<f64>;
    type Outcome = Result<Values, LiveError>;

    pub(crate) fn main() {
        let seconds = std::env::var("LIVE_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
        let time = Duration::from_secs(seconds);
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        println!("live path, {seconds} s each; load average before: {}", load.trim());

        // Words on the command line select parts by their headings.
        let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
        let is_wanted = |heading: &str| {
            let wanted = wanted.is_empty() || wanted.iter().any(|word| heading.contains(word.as_str()));
            if wanted {
                println!("\n{heading}");
            }
            wanted
        };

        let rates: &[u64] =
            if is_wanted("rate on the wire under 4 TCP flows") { &[1, 10, 100, 500] } else { &[] };
        for &mbit in rates {
            let rate = Rate::from_bps(mbit * 1_000_000);
            match alone(|| rate_accuracy(rate, time)) {
                Ok(of) => println!(
                    "  {mbit:>4} Mbit/s: {:.3} Mbit/s, {:+.2} %; worst lateness {:.2} ms",
                    of[0] / 1e6,
                    (of[0] / float(rate.as_bps()) - 1.0) * 100.0,
                    of[1] * 1e3
                ),
                Err(error) => println!("  {mbit:>4} Mbit/s: {error}"),
            }
        }

        let pings: &[(&str, bool)] =
            if is_wanted("half the round-trip time of a UDP packet of 64 bytes, sent every 2 ms") {
                &[("idle bottleneck of 100 Mbit/s", true), ("plain veth pair", false)]
            } else {
                &[]
            };
        for &(name, ping) in pings {
            let outcome = if ping { alone(|| idle_delay(time)) } else { alone(|| veth_ping(time)) };
            match outcome {
                Ok(of) => println!(
                    "  {name:31} p50 {:.3} ms, p99 {:.3} ms, max {:.3} ms of {}",
                    of[0] * 1e3,
                    of[1] * 1e3,
                    of[2] * 1e3,
                    of[3]
                ),
                Err(error) => println!("  {name:31} {error}"),
            }
        }

        if is_wanted("one TCP flow without a rate limit") {
            without_a_limit(time);
        }
        if is_wanted("one TCP flow at 100 Mbit/s") {
            // 150 kB are nearly the 100 full packets of the bottleneck's pfifo.
            let tbf = "tbf rate 100mbit burst 15kb limit 150kb";
            let kernel = report("the kernel's tbf", alone(|| veth_throughput(time, Some(tbf))), None);
            report("bottleneck, pfifo", alone(|| shaped(Rate::from_bps(100_000_000), time)), kernel);
        }
    }

    fn without_a_limit(time: Duration) {
        let veth = report("plain veth pair", alone(|| veth_throughput(time, None)), None);
        for (name, how) in [
            ("bottleneck", How::Coupled),
            ("bottleneck, packets one by one", How::OneByOne),
            ("bottleneck, one packet per turn", How::OnePerTurn),
        ] {
            report(name, alone(|| throughput(time, how)), veth);
        }
    }

    fn report(name: &str, outcome: Outcome, beside: Option<f64>) -> Option<f64> {
        match outcome {
            Ok(of) => {
                let ratio = beside
                    .map_or_else(String::new, |other| format!(", {:.2} of the first value", of[0] / other));
                let cpu = of
                    .get(1)
                    .map_or_else(String::new, |cpu| format!("; {:.2} us of CPU time per packet", cpu * 1e6));
                println!("  {name:33} {:.3} Gbit/s{ratio}{cpu}", of[0] / 1e9);
                Some(of[0])
            }
            Err(error) => {
                println!("  {name:33} {error}");
                None
            }
        }
    }

    /// Runs `work` in its own process.
    fn alone(work: impl FnOnce() -> Outcome) -> Outcome {
        let failed = |error: std::io::Error| LiveError::system("a measurement cannot be started", error);
        let (read, write) = std::io::pipe().map_err(failed)?;
        match process::fork().map_err(|errno| failed(errno.into()))? {
            Forked::Child => {
                drop(read);
                let text = match work() {
                    Ok(values) => values.iter().map(|value| format!("{value}\n")).collect(),
                    Err(error) => format!("error {error}"),
                };
                let _ = File::from(std::os::fd::OwnedFd::from(write)).write_all(text.as_bytes());
                process::leave(0)
            }
            Forked::Parent(_) => {
                drop(write);
                let mut text = String::new();
                File::from(std::os::fd::OwnedFd::from(read)).read_to_string(&mut text).map_err(failed)?;
                match text.strip_prefix("error ") {
                    Some(error) => Err(LiveError::new(error)),
                    None => Ok(text.lines().filter_map(|line| line.parse().ok()).collect()),
                }
            }
        }
    }

    fn bottleneck(capacity: &Capacity, limit: u32) -> Result<BottleneckConfig, LiveError> {
        let pfifo = PfifoConfig::new(limit).map_err(|error| LiveError::new(error.to_string()))?;
        let link = LinkConfig {
            capacity: capacity.clone(),
            qdisc: AnyConfig::Pfifo(pfifo),
            path: None,
            delay: Delay::default(),
            salt: 0,
            framing: 14,
            seed: 1,
        };
        Ok(BottleneckConfig {
            links: [link.clone(), link],
            memory: DEFAULT_MEMORY,
            batch: None,
            couple: true,
        })
    }

    fn bulk(time: Duration) -> FlowSpec {
        let tcp = TcpOptions { congestion_control: "cubic".to_owned(), mss: None };
        FlowSpec {
            kind: FlowKind::Bulk { direction: Direction::Down, size: None, tcp },
            start: Instant::ZERO,
            stop: Instant::ZERO + time,
            rtt: Duration::ZERO,
        }
    }

    fn ping(time: Duration) -> FlowSpec {
        FlowSpec { kind: FlowKind::Ping { interval: Duration::from_millis(2), bytes: 64 }, ..bulk(time) }
    }

    /// Runs the flows. The first second is not measured.
    fn session(
        config: BottleneckConfig,
        flows: Vec<FlowSpec>,
        time: Duration,
    ) -> Result<SessionOutcome, LiveError> {
        session_with(config, flows, time, false)
    }

    fn session_with(
        config: BottleneckConfig,
        flows: Vec<FlowSpec>,
        time: Duration,
        segment_at_sender: bool,
    ) -> Result<SessionOutcome, LiveError> {
        let warmup = Duration::from_secs(1);
        let session = Session {
            bottleneck: config,
            ends: default_ends(1500).map(|end| End { segment_at_sender, ..end }),
            flows,
            duration: time + warmup,
            warmup,
            step: None,
        };
        session.run()
    }

    fn all(time: Duration) -> Duration {
        time + Duration::from_secs(1)
    }

    /// Measures the bits per second that the kernel received from the device, and the longest delay
    /// of a wake-up. The link header counts as in the queue.
    fn rate_accuracy(rate: Rate, time: Duration) -> Outcome {
        // Full packets of 50 ms.
        let limit = u32::try_from(rate.as_bps() / 8 / 1514 / 20).unwrap_or(1000).max(20);
        let flows = vec![bulk(all(time)); 4];
        // The kernel would count a joined super-packet once, with one header.
        let config = BottleneckConfig { couple: false, ..bottleneck(&Capacity::Constant(rate), limit)? };
        let outcome = session(config, flows, time)?;
        let [client, _] = outcome.received;
        Ok(vec![
            float(client.received_bytes + 14 * client.received) * 8.0 / outcome.received_in_s,
            float(outcome.counters.latest.as_nanos()) / 1e9,
        ])
    }

    fn idle_delay(time: Duration) -> Outcome {
        let config = bottleneck(&Capacity::Constant(Rate::from_bps(100_000_000)), 1000)?;
        let outcome = session(config, vec![ping(all(time))], time)?;
        Ok(halves(outcome.flows[0].samples.iter().filter_map(|sample| sample.took).collect()))
    }

    fn halves(mut times: Vec<Duration>) -> Values {
        times.sort_unstable();
        let at = |share: usize| {
            let index = (times.len() * share / 100).min(times.len().saturating_sub(1));
            // Half of the round-trip time, in seconds.
            times.get(index).map_or(0.0, |time| float(time.as_nanos()) / 2e9)
        };
        vec![at(50), at(99), at(100), float(times.len() as u64)]
    }

    /// The way packets are read and written.
    #[derive(Clone, Copy)]
    enum How {
        /// Super-packets are cut and joined again.
        Coupled,
        /// TCP sends segment by segment, and each is written by itself.
        OneByOne,
        /// Like `OneByOne`, with a check for other events after each packet, as in Mahimahi.
        OnePerTurn,
    }

    fn throughput(time: Duration, how: How) -> Outcome {
        let plain = bottleneck(&Capacity::UNLIMITED, 1000)?;
        match how {
            How::Coupled => carried(plain, time, false),
            How::OneByOne => carried(BottleneckConfig { couple: false, ..plain }, time, true),
            How::OnePerTurn => {
                carried(BottleneckConfig { couple: false, batch: Some(1), ..plain }, time, true)
            }
        }
    }

    fn shaped(rate: Rate, time: Duration) -> Outcome {
        carried(bottleneck(&Capacity::Constant(rate), 100)?, time, false)
    }

    /// Measures the payload per second and the CPU time per packet of the thread that carries
    /// packets.
    fn carried(config: BottleneckConfig, time: Duration, segment_at_sender: bool) -> Outcome {
        let outcome = session_with(config, vec![bulk(all(time))], time, segment_at_sender)?;
        let delivered = outcome.flows[0].after.delivered - outcome.flows[0].before.delivered;
        let usage =
            // The thread that carries packets, without those of the flows.
            getrusage(UsageWho::RUSAGE_THREAD).map_err(|errno| LiveError::system("getrusage", errno))?;
        let cpu = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        let packets: u64 = outcome.counters.read.iter().sum();
        let cpu = float(u64::try_from(cpu).unwrap_or(0)) / 1e6 / float(packets.max(1));
        Ok(vec![float(delivered) * 8.0 / outcome.received_in_s, cpu])
    }

    /// Creates two namespaces with a veth pair between them, and one of the kernel's disciplines on
    /// it if given.
    fn veth(tc: Option<&str>) -> Result<Arc<[Network; 2]>, LiveError> {
        process::run_all_promptly();
        namespace::enter_user_namespace()?;
        let server = Network::create()?;
        run("ip link add goodqueue type veth peer name other")?;
        let client_side = process_namespace()?;
        run(&format!("ip link set other netns {}", client_side.0))?;
        let mut netlink = Netlink::open()?;
        let index = netlink::index_of("goodqueue")?;
        netlink.set_up(index, None, None)?;
        netlink.add_address(index, IpAddr::V4(SERVER), 24)?;
        if let Some(tc) = tc {
            run(&format!("tc qdisc add dev goodqueue root {tc}"))?;
        }
        let client = client_side.1;
        client.enter()?;
        let mut netlink = Netlink::open()?;
        let index = netlink::index_of("other")?;
        netlink.set_up(index, None, None)?;
        netlink.add_address(index, IpAddr::V4(CLIENT), 24)?;
        Ok(Arc::new([client, server]))
    }

    /// Creates a second network namespace, held by a process that waits to be killed.
    fn process_namespace() -> Result<(nix::unistd::Pid, Network), LiveError> {
        let failed = |errno: nix::errno::Errno| LiveError::system("a process cannot be started", errno);
        let here = Network::current()?;
        let client = Network::create()?;
        match process::fork().map_err(failed)? {
            Forked::Child => {
                let _ = process::die_with_parent();
                loop {
                    std::thread::sleep(std::time::Duration::from_secs(1));
                }
            }
            Forked::Parent(pid) => {
                here.enter()?;
                Ok((pid, client))
            }
        }
    }

    fn run(line: &str) -> Result<(), LiveError> {
        let mut words = line.split_whitespace();
        let program = words.next().unwrap_or_default();
        let status = Command::new(program).args(words).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            _ => Err(LiveError::new(format!("not measured: `{line}` failed"))),
        }
    }

    fn over_veth(spec: &FlowSpec, tc: Option<&str>, time: Duration) -> Result<(Flow, u64), LiveError> {
        let networks = veth(tc)?;
        let clock = Clock::start_in(Duration::from_millis(300));
        let (tell, ready) = channel();
        let flow = Flow::start(0, spec, clock, &networks, [CLIENT, SERVER], &tell)?;
        for _ in 0..2 {
            ready.recv().map_err(|_| LiveError::new("the flow does not start"))??;
        }
        let wait = |until: Instant| {
            while clock.now() < until {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        };
        wait(Instant::ZERO + Duration::from_secs(1));
        let before = flow.delivered();
        wait(Instant::ZERO + all(time));
        let delivered = flow.delivered() - before;
        flow.stop();
        Ok((flow, delivered))
    }

    fn veth_throughput(time: Duration, tc: Option<&str>) -> Outcome {
        let (_, delivered) = over_veth(&bulk(all(time)), tc, time)?;
        // Bits per second from bytes and nanoseconds.
        Ok(vec![float(delivered) * 8e9 / float(time.as_nanos())])
    }

    fn veth_ping(time: Duration) -> Outcome {
        let (flow, _) = over_veth(&ping(all(time)), None, time)?;
        Ok(halves(flow.samples().iter().filter_map(|sample| sample.took).collect()))
    }

    #[expect(clippy::cast_precision_loss, reason = "values for people to read")]
    const fn float(number: u64) -> f64 {
        number as f64
    }

    const CLIENT: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
    const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
}
