//! A bottleneck between two interfaces of this host.

use std::path::PathBuf;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::between_packets::BetweenPackets;
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

/// The place of a bottleneck on this host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// Between two interfaces: towards the clients, and towards the servers.
    Between(String, String),
    /// Between an interface towards the servers and a new one for the host itself.
    Before {
        /// Interface towards the servers.
        interface: String,
        /// Name of the new interface.
        made: String,
        /// Moves addresses and routes of `interface` to the new one until the end, if given.
        take_over: Option<TakeOverOf>,
    },
}

/// Options for moving the host's addresses and routes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TakeOverOf {
    /// Path of the undo file, which records the previous state.
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
    /// Opens the interfaces and gives up all privileges. Changes to the host end with this process
    /// or are undone at its end.
    ///
    /// # Errors
    /// An interface does not exist, or this process lacks the privilege.
    pub fn start(place: &Place, config: &BottleneckConfig) -> Result<Self, LiveError> {
        let failed = |errno| LiveError::system("signals cannot be received", errno);
        let mut set = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            set.add(signal);
        }
        // Only a blocked signal can be read from a descriptor (signalfd(2)).
        set.thread_block().map_err(failed)?;
        let signals =
            SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).map_err(failed)?;
        process::run_promptly();
        let (client, server, host) = open(place)?;
        let indices = (netlink::index_of(client.name())?, netlink::index_of(server.name())?);
        let kernel = ((Netlink::open()?, indices.0), (Netlink::open()?, indices.1));
        namespace::drop_privileges()?;
        let devices = [client, server];
        let mut bottleneck = Bottleneck::new(Clock::start(), devices, config)?;
        bottleneck.watch_signals(signals)?;
        bottleneck.watch_kernel(kernel.0, kernel.1);
        Ok(Self { bottleneck, _host: host })
    }

    /// Carries packets until a signal arrives or the attendant ends the run. Calls `reload` at
    /// SIGHUP, in the loop that carries packets, so it must not block.
    ///
    /// # Errors
    /// An interface was deleted.
    pub fn run(
        &mut self,
        between_packets: &mut dyn BetweenPackets,
        reload: &mut dyn FnMut(),
    ) -> Result<(), LiveError> {
        let mut tick = self.bottleneck.now();
        let outcome = loop {
            match self.bottleneck.run_until(tick) {
                Ok(Pause::Time) => {
                    let now = self.bottleneck.now();
                    tick = between_packets.tick(&mut self.bottleneck, now);
                    if between_packets.is_over(now) {
                        break Ok(());
                    }
                }
                Ok(Pause::Request) => between_packets.request(&mut self.bottleneck),
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

/// Opens the devices of a bottleneck: the client's and the server's.
fn open(place: &Place) -> Result<(Device, Device, Option<TakeOver>), LiveError> {
    match place {
        Place::Between(client, server) if client == server => {
            Err(LiveError::new(format!("`{client}` cannot be both ends of the bottleneck"))
                .help("name two interfaces, or use --before"))
        }
        Place::Between(client, server) => {
            let [client, server] =
                [Interface::open(client)?, Interface::open(server)?].map(Device::Interface);
            Ok((client, server, None))
        }
        Place::Before { interface, made, take_over } => {
            let server = Interface::open(interface)?;
            let tap = Tun::create_tap(made)?;
            let mut netlink = Netlink::open()?;
            let index = netlink::index_of(made)?;
            // Longer frames could not leave by the existing interface.
            let mtu = netlink.counters(netlink::index_of(interface)?)?.mtu;
            if take_over.is_some() {
                let address = netlink.hardware_address(netlink::index_of(interface)?)?;
                // Neighbours send to the hardware address that they know for the host's addresses.
                netlink.set_hardware_address(index, address)?;
            }
            netlink.set_up(index, Some(mtu), Some(namespace::TUN_QUEUE))?;
            let host = match take_over {
                Some(TakeOverOf { undo_file }) => Some(TakeOver::begin(interface, made, undo_file)?),
                None => None,
            };
            Ok((Device::Tun(tap), Device::Interface(server), host))
        }
    }
}
