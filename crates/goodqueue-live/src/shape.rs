//! A bottleneck between two interfaces of this host.

use std::path::PathBuf;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::attendant::Attendant;
use crate::bottleneck::{Bottleneck, BottleneckConfig, Pause};
use crate::clock::Clock;
use crate::device::Device;
use crate::error::LiveError;
use crate::interface::Interface;
use crate::namespace;
use crate::netlink::{self, Netlink};
use crate::process;
use crate::takeover::TakeOver;
use crate::tun::Tun;

/// Between what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// Two interfaces: that of the clients, that of the servers.
    Between(String, String),
    /// One interface of the servers, and one that is made for the host itself.
    Before {
        /// Towards the servers.
        interface: String,
        /// The name of the one that is made.
        made: String,
        /// The one that is made gets the addresses and routes of the other, until the end.
        take_over: Option<TakeOverOf>,
    },
}

/// How the host's addresses and routes are given to the interface that is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TakeOverOf {
    /// Where to write down what has to be undone.
    pub undo_file: PathBuf,
}

/// A bottleneck that runs until it is told to end.
#[derive(Debug)]
pub struct Shape {
    /// The bottleneck.
    pub bottleneck: Bottleneck,
    _host: Option<TakeOver>,
}

impl Shape {
    /// Opens the interfaces and gives up all privileges. What is changed about the host ends with this process, or is undone
    /// when it ends.
    ///
    /// # Errors
    /// An interface is not there, or we have no right to it.
    pub fn start(place: &Place, config: &BottleneckConfig) -> Result<Self, LiveError> {
        let failed = |errno| LiveError::system("signals cannot be taken over", errno);
        let mut set = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            set.add(signal);
        }
        set.thread_block().map_err(failed)?;
        let signals =
            SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).map_err(failed)?;
        process::run_promptly();
        let mut host = None;
        let (client, server) = match place {
            Place::Between(client, server) if client == server => {
                return Err(LiveError::new(format!("`{client}` cannot be both ends of the bottleneck"))
                    .help("name two interfaces, or use --before"));
            }
            Place::Between(client, server) => {
                (Device::Interface(Interface::open(client)?), Interface::open(server)?)
            }
            Place::Before { interface, made, take_over } => {
                let server = Interface::open(interface)?;
                let tap = Tun::create_tap(made)?;
                let mut netlink = Netlink::open()?;
                let index = netlink::index_of(made)?;
                let mtu = netlink.counters(netlink::index_of(interface)?)?.mtu;
                if take_over.is_some() {
                    let address = netlink.hardware_address(netlink::index_of(interface)?)?;
                    netlink.set_hardware_address(index, address)?;
                }
                netlink.set_up(index, Some(mtu), Some(namespace::TUN_QUEUE))?;
                if let Some(TakeOverOf { undo_file }) = take_over {
                    host = Some(TakeOver::begin(interface, made, undo_file)?);
                }
                (Device::Tun(tap), server)
            }
        };
        let indices = (netlink::index_of(client.name())?, netlink::index_of(server.name())?);
        let kernel = ((Netlink::open()?, indices.0), (Netlink::open()?, indices.1));
        namespace::drop_privileges()?;
        let devices = [client, Device::Interface(server)];
        let mut bottleneck = Bottleneck::new(Clock::start(), devices, config)?;
        bottleneck.watch_signals(signals)?;
        bottleneck.watch_kernel(kernel.0, kernel.1);
        Ok(Self { bottleneck, _host: host })
    }

    /// Carries packets until a signal, or the attendant, says that it is enough. `reload` is called at SIGHUP, in the
    /// loop that carries packets: it must not wait for anything.
    ///
    /// # Errors
    /// An interface is gone.
    pub fn run(&mut self, attendant: &mut dyn Attendant, reload: &mut dyn FnMut()) -> Result<(), LiveError> {
        let mut tick = self.bottleneck.now();
        let outcome = loop {
            match self.bottleneck.run_until(tick) {
                Ok(Pause::Time) => {
                    let now = self.bottleneck.now();
                    tick = attendant.tick(&mut self.bottleneck, now);
                    if attendant.is_over(now) {
                        break Ok(());
                    }
                }
                Ok(Pause::Request) => attendant.request(&mut self.bottleneck),
                Ok(Pause::Signal(signal)) if signal.ssi_signo == Signal::SIGHUP as u32 => {
                    reload();
                }
                Ok(Pause::Signal(_)) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.bottleneck.finish();
        outcome
    }
}
