//! User, network and process namespaces: a place in which nothing of the host can be touched, and which the kernel tears
//! down with the processes in it.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{Gid, Uid};

use crate::error::LiveError;
use crate::netlink::{self, ANY_V4, ANY_V6, Netlink, RouteTcp};
use crate::settings;
use crate::tun::Tun;

/// Gives this process a user namespace of its own, with all privileges over what it makes in there and none outside.
/// Users keep their numbers.
///
/// The process must have one thread only.
///
/// # Errors
/// The system does not allow it; the message says what to do.
pub fn enter_user_namespace() -> Result<(), LiveError> {
    let (uid, gid) = (Uid::effective(), Gid::effective());
    // Root can map all users, but only from outside.
    let helper = if uid.is_root() { Some(Mapper::start()?) } else { None };
    unshare(CloneFlags::CLONE_NEWUSER).map_err(user_namespaces_refused)?;
    let mapped = match helper {
        Some(helper) => helper.map(),
        None => {
            // Without this the kernel lets nobody map groups: membership can also take rights away.
            let _ = fs::write("/proc/self/setgroups", "deny");
            write_map("/proc/self/uid_map", &format!("{uid} {uid} 1"))
                .and_then(|()| write_map("/proc/self/gid_map", &format!("{gid} {gid} 1")))
        }
    };
    mapped.map_err(|error| {
        LiveError::system("user namespaces are not to be had here: users cannot be mapped", error)
            .help(restriction_advice())
    })
}

fn user_namespaces_refused(errno: Errno) -> LiveError {
    let why = match errno {
        Errno::ENOSPC => "their number is limited to what is in use (/proc/sys/user/max_user_namespaces)",
        Errno::EINVAL => "this process has more than one thread, or the kernel is built without them",
        Errno::EUSERS => "they are nested too deeply (32 at most)",
        _ => "the system does not allow them",
    };
    LiveError::new(format!("user namespaces are not to be had here: {why} ({errno})"))
        .help(restriction_advice())
}

/// What keeps unprivileged users from namespaces, where we can see it.
fn restriction_advice() -> &'static str {
    let is_set = |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    if is_set("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        "AppArmor restricts them: `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or a profile that allows userns"
    } else if is_set("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "`sysctl kernel.unprivileged_userns_clone=1` allows them"
    } else if is_set("/proc/sys/user/max_user_namespaces", "0") {
        "`sysctl user.max_user_namespaces=10000` allows them"
    } else {
        "in a container, allow `unshare` (a seccomp profile that permits it, such as `--security-opt seccomp=unconfined`)"
    }
}

fn write_map(path: &str, map: &str) -> std::io::Result<()> {
    // The kernel takes a map in one write only.
    fs::OpenOptions::new().write(true).open(path)?.write_all(map.as_bytes())
}

/// A child that stays outside and maps all users of this namespace to themselves.
struct Mapper {
    child: nix::unistd::Pid,
    go: File,
    done: File,
}

impl Mapper {
    fn start() -> Result<Self, LiveError> {
        let failed = |errno: Errno| LiveError::system("a helper process cannot be started", errno);
        let (go_read, go_write) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC).map_err(failed)?;
        let (done_read, done_write) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC).map_err(failed)?;
        let parent = nix::unistd::getpid();
        let maps = ["uid_map", "gid_map"].map(|file| {
            let of_ours = fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
            (format!("/proc/{parent}/{file}"), onto_itself(&of_ours))
        });
        match crate::process::fork().map_err(failed)? {
            crate::process::Forked::Child => {
                drop((go_write, done_read));
                let mut byte = [0];
                let mut written = false;
                if File::from(go_read).read(&mut byte).is_ok_and(|read| read == 1) {
                    written = maps.iter().all(|(path, map)| write_map(path, map).is_ok());
                }
                let _ = File::from(done_write).write(&[u8::from(written)]);
                crate::process::leave(0)
            }
            crate::process::Forked::Parent(child) => {
                Ok(Self { child, go: File::from(go_write), done: File::from(done_read) })
            }
        }
    }

    fn map(mut self) -> std::io::Result<()> {
        let mut answer = [0];
        self.go.write_all(&[1])?;
        let read = self.done.read(&mut answer)?;
        let _ = nix::sys::wait::waitpid(self.child, None);
        if read == 1 && answer == [1] {
            return Ok(());
        }
        // Root of a user namespace that maps one user cannot map more; itself it always can.
        let (uid, gid) = (Uid::effective(), Gid::effective());
        let _ = fs::write("/proc/self/setgroups", "deny");
        let of = |id: u32| if id == OVERFLOW_ID { 0 } else { id };
        let (uid, gid) = (of(uid.as_raw()), of(gid.as_raw()));
        write_map("/proc/self/uid_map", &format!("{uid} {uid} 1"))?;
        write_map("/proc/self/gid_map", &format!("{gid} {gid} 1"))
    }
}

/// How an unmapped user shows (`/proc/sys/kernel/overflowuid`).
const OVERFLOW_ID: u32 = 65534;

/// The users of a map, each mapped to itself.
fn onto_itself(map: &str) -> String {
    let ranges = map.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace();
        let (first, _, count) = (numbers.next()?, numbers.next()?, numbers.next()?);
        Some(format!("{first} {first} {count}\n"))
    });
    ranges.collect()
}

/// A network namespace, kept alive by this handle.
#[derive(Debug)]
pub struct Network(File);

impl Network {
    /// Makes one, with nothing but a loopback interface, and takes this thread into it.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn create() -> Result<Self, LiveError> {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| {
            LiveError::system("network namespaces are not to be had here", errno).help(restriction_advice())
        })?;
        let network = Self::current()?;
        Netlink::open()?.set_up(netlink::index_of("lo")?, None, None)?;
        Ok(network)
    }

    /// The one in which this thread is.
    ///
    /// # Errors
    /// There is no /proc.
    pub fn current() -> Result<Self, LiveError> {
        File::open("/proc/thread-self/ns/net").map(Self).map_err(|error| {
            LiveError::system("the network namespace cannot be named", error).help("/proc must be mounted")
        })
    }

    /// Takes this thread into it.
    ///
    /// # Errors
    /// We have no right to.
    pub fn enter(&self) -> Result<(), LiveError> {
        setns(self.0.as_fd(), CloneFlags::CLONE_NEWNET)
            .map_err(|errno| LiveError::system("a network namespace cannot be entered", errno))
    }
}

impl AsFd for Network {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// One end of the bottleneck as programs see it: an interface with addresses and a route to everywhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// Name of the interface.
    pub interface: String,
    /// Its address.
    pub v4: Ipv4Addr,
    /// Its other address, if it has one.
    pub v6: Option<Ipv6Addr>,
    /// Largest packet.
    pub mtu: u32,
    /// TCP settings.
    pub tcp: RouteTcp,
    /// TCP sends segment by segment: no segmentation offload.
    pub segment_at_sender: bool,
    /// Settings below `/proc/sys/net` that must hold, and such as are wished for only.
    pub sysctls: Vec<(String, String)>,
}

/// The two ends of a bottleneck by default.
///
/// 198.18.0.0/15 is set aside for benchmarks between networks (RFC 2544, RFC 6890), 2001:2::/48 for the same with IPv6
/// (RFC 5180): no host that anybody wants to reach is there.
#[must_use]
pub fn default_ends(mtu: u32) -> [End; 2] {
    [1, 2].map(|number| End {
        interface: INTERFACE.to_owned(),
        v4: Ipv4Addr::new(198, 18, 0, number),
        v6: Some(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, u16::from(number))),
        mtu,
        tcp: RouteTcp::default(),
        segment_at_sender: false,
        sysctls: Vec::new(),
    })
}

impl End {
    /// Makes the interface in the network namespace of this thread, and sets it up.
    ///
    /// # Errors
    /// The system refuses a step; then nothing is left of the ones before.
    pub fn create(&self) -> Result<(Tun, Netlink, u32), LiveError> {
        let tun = Tun::create(&self.interface)?;
        let index = netlink::index_of(&self.interface)?;
        let conf = format!("ipv6/conf/{}", self.interface);
        // Nothing is on the link but what programs send: no router solicitations, no link-local address to announce.
        for (key, value) in [("router_solicitations", "0"), ("accept_ra", "0"), ("addr_gen_mode", "1")] {
            let _ = settings::set(&format!("{conf}/{key}"), value);
        }
        // `ping` without privileges, for every group; and ports below 1024, since there is nobody to protect them from.
        let _ = settings::set("ipv4/ping_group_range", "0 4294967294");
        let _ = settings::set("ipv4/ip_unprivileged_port_start", "0");
        // What one run learned about the path is not told to the next.
        let _ = settings::set("ipv4/tcp_no_metrics_save", "1");
        for (key, value) in &self.sysctls {
            settings::set(key, value).map_err(|error| {
                LiveError::system(format_args!("net/{key} cannot be set to {value}"), error)
            })?;
        }
        let mut netlink = Netlink::open()?;
        netlink.set_up(index, Some(self.mtu), Some(TUN_QUEUE))?;
        if self.segment_at_sender {
            // A wish: an older kernel that cannot sends in bursts.
            let _ = netlink.segment_at_sender(index);
        }
        netlink.add_address(index, IpAddr::V4(self.v4), 24)?;
        netlink.add_default_route(index, ANY_V4, self.tcp)?;
        // A kernel may come without IPv6, or with it switched off; below 1280 bytes it does not run (RFC 8200 §5).
        if let Some(v6) = self.v6
            && netlink.add_address(index, IpAddr::V6(v6), 64).is_ok()
        {
            netlink.add_default_route(index, ANY_V6, self.tcp)?;
        }
        Ok((tun, netlink, index))
    }
}

/// Gives up every capability for good, and makes sure of it.
///
/// # Errors
/// The system does not do it.
pub fn drop_privileges() -> Result<(), LiveError> {
    let failed =
        |error: caps::errors::CapsError| LiveError::new(format!("privileges cannot be given up: {error}"));
    nix::sys::prctl::set_no_new_privs()
        .map_err(|errno| LiveError::system("privileges cannot be given up", errno))?;
    for set in
        [caps::CapSet::Ambient, caps::CapSet::Effective, caps::CapSet::Inheritable, caps::CapSet::Permitted]
    {
        caps::clear(None, set).map_err(failed)?;
    }
    // Trying to get one back must fail.
    let regained = caps::raise(None, caps::CapSet::Effective, caps::Capability::CAP_NET_ADMIN).is_ok();
    let left = caps::read(None, caps::CapSet::Permitted).map_err(failed)?;
    if regained || !left.is_empty() {
        return Err(LiveError::new("privileges were given up and are still there"));
    }
    Ok(())
}

/// The interface's name on both sides.
pub const INTERFACE: &str = "goodqueue";

/// Packets that the kernel holds for us while we are busy; its default of 500 would be a second queue in front of ours.
/// We read all that is there whenever we run, so it is empty unless we come late; what overflows meanwhile is counted and
/// told. 256 packets are 300 ms of 10 Mbit/s, or the first windows (RFC 6928) of 25 connections that begin at once.
pub const TUN_QUEUE: u32 = 256;
