//! A program whose only network is the bottleneck.
//!
//! ```text
//! this process        in a user namespace, without privileges; carries the packets
//!  └ init             first process of a process namespace; killed with this process
//!     ├ server        in the server's network namespace: --serve, or the built-in server
//!     └ program       in the client's network namespace
//! ```
//!
//! If root starts it, there are two user namespaces, one inside the other. The outer one owns the
//! process namespace and the mounts that protect the kernel's settings. All processes and networks
//! are in the inner one.

mod config;
mod handover;
mod init;

use std::io::Write;
use std::os::unix::net::UnixStream;

use goodqueue::{Duration, Instant};
use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

pub use self::config::{Server, ShellConfig};
use self::handover::Namespaces;
use self::init::{Init, code_of};
use crate::between_packets::BetweenPackets;
use crate::bottleneck::{Bottleneck, Pause};
use crate::clock::Clock;
use crate::device::Device;
use crate::error::LiveError;
use crate::namespace::{self, Network};
use crate::nat::{self, Nat};
use crate::process::{self, Forked};

/// A program that runs behind a bottleneck.
#[derive(Debug)]
pub struct Shell {
    /// The bottleneck.
    pub bottleneck: Bottleneck,
    init: Pid,
    asked_to_end: bool,
    /// Time at which the program is killed if it has not ended: after a hangup, nobody is there to
    /// ask again.
    kill_at: Instant,
    _host: Option<nat::HostChanges>,
}

impl Shell {
    /// Creates the namespaces and starts the program in them. The process must have one thread
    /// only. Afterwards it is in the client's namespaces.
    ///
    /// # Errors
    /// The system lacks or forbids something, or the program cannot be started. Nothing is left
    /// behind.
    pub fn start(config: &ShellConfig) -> Result<Self, LiveError> {
        config.bottleneck.packet_memory()?;
        let signals = block_signals()?;
        let mut ends = config.ends.clone();
        // The host's network can only be changed from outside of the user namespace.
        let host = match &config.server {
            Server::Host { undo_file } => Some(Nat::open(&mut ends, undo_file.as_deref())?),
            Server::BuiltIn | Server::Command(_) => None,
        };
        // Root may do this only outside of the user namespace.
        process::run_promptly();
        namespace::enter_user_namespace()?;
        let failed = |errno: Errno| LiveError::system("the program's process cannot be started", errno);
        let (mut ours, theirs) =
            UnixStream::pair().map_err(|error| LiveError::system("the program cannot be started", error))?;
        // Without process namespaces everything else still works. At the end only our own children
        // are killed then, not the processes that they leave behind.
        let init = match process::fork_into_namespace().map_err(failed)? {
            Forked::Child => {
                drop(ours);
                process::leave(Init { config, ends: &ends }.run(theirs))
            }
            Forked::Parent(init) => init,
        };
        // While a copy is open here, the end of the other process would not show.
        drop(theirs);
        let made = Namespaces::receive(&ours)?;
        if let Some(user) = &made.user {
            namespace::join_user_namespace(user)?;
        }
        let mut networks = made.networks.into_iter().map(Network::from_handle);
        let client = networks.next().ok_or_else(|| failed(Errno::EPROTO))?;
        let (server_tun, server_link, server_index, host) = match host {
            Some(Nat { tun, netlink, index, hold }) => (tun, netlink, index, Some(hold)),
            None => {
                networks.next().ok_or_else(|| failed(Errno::EPROTO))?.enter()?;
                let (tun, netlink, index) = ends[1].create()?;
                (tun, netlink, index, None)
            }
        };
        client.enter()?;
        let (client_tun, client_link, client_index) = ends[0].create()?;
        drop(client);
        namespace::drop_privileges()?;
        let devices = [Device::Tun(client_tun), Device::Tun(server_tun)];
        let mut bottleneck = Bottleneck::new(Clock::start(), devices, &config.bottleneck)?;
        bottleneck.watch_signals(signals)?;
        bottleneck.watch_kernel((client_link, client_index), (server_link, server_index));
        let failed = |error| LiveError::system("the program cannot be started", error);
        if !made.is_out_of_sight {
            // Programs can see this process and belong to the same user, so they could reach into
            // it.
            process::keep_others_out().map_err(|errno| failed(errno.into()))?;
        }
        // The first process waits for this byte, so that the program finds its network complete.
        ours.write_all(&[1]).map_err(failed)?;
        Ok(Self { bottleneck, init, asked_to_end: false, kill_at: Instant::MAX, _host: host })
    }

    /// Carries packets until the program ends. Returns its exit code, or 128 plus the number of the
    /// signal that ended it.
    ///
    /// # Errors
    /// A device was deleted. The program has been killed.
    pub fn run(&mut self, between_packets: &mut dyn BetweenPackets) -> Result<i32, LiveError> {
        let outcome = self.carry(between_packets);
        if outcome.is_err() {
            let _ = kill(self.init, Signal::SIGKILL);
            let _ = waitpid(self.init, None);
        }
        self.bottleneck.finish();
        outcome
    }

    fn carry(&mut self, between_packets: &mut dyn BetweenPackets) -> Result<i32, LiveError> {
        let mut tick = self.bottleneck.now();
        loop {
            match self.bottleneck.run_until(tick.min(self.kill_at))? {
                Pause::Time => {
                    let now = self.bottleneck.now();
                    if now >= self.kill_at {
                        self.kill_at = Instant::MAX;
                        let _ = kill(self.init, Signal::SIGKILL);
                    }
                    // Only the time to kill the program has come.
                    if now < tick {
                        continue;
                    }
                    // Packets come first, whatever time it asks for.
                    tick =
                        between_packets.tick(&mut self.bottleneck, now).max(now + Duration::from_millis(1));
                }
                Pause::Request => between_packets.request(&mut self.bottleneck),
                Pause::Signal(signal) => {
                    let number = i32::try_from(signal.ssi_signo).unwrap_or(0);
                    if number == libc::SIGCHLD {
                        if let Some(code) = self.ended() {
                            return Ok(code);
                        }
                    } else if number == libc::SIGHUP {
                        self.hang_up();
                    } else if signal.ssi_code != SI_KERNEL {
                        // A signal from the keyboard has reached the program as well.
                        self.end();
                    }
                }
            }
        }
    }

    /// Asks the program to end, and kills it the second time.
    fn end(&mut self) {
        let signal = if self.asked_to_end { Signal::SIGKILL } else { Signal::SIGTERM };
        self.asked_to_end = true;
        // It may have ended in the meantime.
        let _ = kill(self.init, signal);
    }

    /// Ends the program because its terminal is gone, or because somebody sent SIGHUP. The kernel
    /// tells a terminal's hangup to the leader of its session only, and that may be this process.
    fn hang_up(&mut self) {
        self.asked_to_end = true;
        self.kill_at = self.kill_at.min(self.bottleneck.now() + AFTER_HANGUP);
        // Interactive shells ignore SIGTERM, other programs reload their settings at SIGHUP.
        for signal in [Signal::SIGHUP, Signal::SIGTERM] {
            let _ = kill(self.init, signal);
        }
    }

    fn ended(&self) -> Option<i32> {
        match waitpid(self.init, Some(WaitPidFlag::WNOHANG)) {
            Ok(status) => code_of(status),
            Err(_) => Some(1),
        }
    }
}

/// Time for a program to end after a hangup.
const AFTER_HANGUP: Duration = Duration::from_secs(5);

/// `si_code` of signals from the kernel, such as those of the keyboard (sigaction(2)).
const SI_KERNEL: i32 = 0x80;

fn block_signals() -> Result<SignalFd, LiveError> {
    let failed = |errno| LiveError::system("signals cannot be received", errno);
    let mut set = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGQUIT, Signal::SIGCHLD] {
        set.add(signal);
    }
    // With `nohup`, neither this process nor the program ends with the terminal.
    if !process::ignores(Signal::SIGHUP) {
        set.add(Signal::SIGHUP);
    }
    set.thread_block().map_err(failed)?;
    SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).map_err(failed)
}
