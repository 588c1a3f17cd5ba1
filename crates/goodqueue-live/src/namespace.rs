//! User and network namespaces: places in which programs cannot change anything of the host. The
//! kernel removes them with the processes in them.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{Gid, Uid};

use crate::error::LiveError;
use crate::netlink::{self, ANY_V4, ANY_V6, Netlink, RouteTcp};
use crate::settings;
use crate::tun::Tun;

/// Moves this process into an existing user namespace inside its own, with all privileges over what
/// is created there. The process must have one thread only.
///
/// # Errors
/// The system does not allow it.
pub(crate) fn join_user_namespace(namespace: &File) -> Result<(), LiveError> {
    setns(namespace, CloneFlags::CLONE_NEWUSER)
        .map_err(|errno| LiveError::system("the user namespace of the programs cannot be entered", errno))
}

/// Moves this process into a new user namespace, with all privileges over what is created there and
/// none outside. User numbers stay the same.
///
/// The process must have one thread only.
///
/// # Errors
/// The system does not allow it; the message says what to do.
pub fn enter_user_namespace() -> Result<(), LiveError> {
    let uid = Uid::effective();
    let gid = Gid::effective();
    // Root can map all users, but only from outside of the new namespace.
    let helper = if uid.is_root() { Some(Mapper::start()?) } else { None };
    unshare(CloneFlags::CLONE_NEWUSER).map_err(user_namespaces_refused)?;
    let mapped = match helper {
        Some(helper) => helper.map(),
        None => {
            // The kernel requires this before an unprivileged process maps groups, because
            // membership in a group can also remove rights.
            let _ = fs::write("/proc/self/setgroups", "deny");
            write_map("/proc/self/uid_map", &format!("{uid} {uid} 1"))
                .and_then(|()| write_map("/proc/self/gid_map", &format!("{gid} {gid} 1")))
        }
    };
    mapped.map_err(|error| {
        LiveError::system("user namespaces cannot be used: users cannot be mapped", error)
            .help(restriction_advice())
    })
}

fn user_namespaces_refused(errno: Errno) -> LiveError {
    let why = match errno {
        Errno::ENOSPC => "their number has reached its limit (/proc/sys/user/max_user_namespaces)",
        Errno::EINVAL => "this process has several threads, or the kernel is built without them",
        Errno::EUSERS => "they are nested too deeply (the limit is 32)",
        _ => "the system does not allow them",
    };
    LiveError::new(format!("user namespaces cannot be used: {why} ({errno})")).help(restriction_advice())
}

/// Returns advice on the restriction that keeps unprivileged users from namespaces, as far as it
/// can be read.
fn restriction_advice() -> &'static str {
    let is_set = |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    if is_set("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        "AppArmor restricts them: run `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or add a profile that allows userns"
    } else if is_set("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "run `sysctl kernel.unprivileged_userns_clone=1` to allow them"
    } else if is_set("/proc/sys/user/max_user_namespaces", "0") {
        "run `sysctl user.max_user_namespaces=10000` to allow them"
    } else {
        "in a container, allow `unshare` (a seccomp profile that permits it, such as `--security-opt seccomp=unconfined`)"
    }
}

fn write_map(path: &str, map: &str) -> std::io::Result<()> {
    // The kernel takes a map in a single write only.
    fs::OpenOptions::new().write(true).open(path)?.write_all(map.as_bytes())
}

/// A child process that stays outside and maps each user of this namespace to itself.
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
        // In a process namespace whose /proc is that of another one, this process has another
        // number there.
        let parent = fs::read_link("/proc/self")
            .map_or_else(|_| nix::unistd::getpid().to_string(), |number| number.display().to_string());
        let maps = ["uid_map", "gid_map"].map(|file| {
            let of_ours = fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
            (format!("/proc/{parent}/{file}"), onto_itself(&of_ours))
        });
        match crate::process::fork().map_err(failed)? {
            crate::process::Forked::Child => {
                // While a copy is open here, the end of the other process would not show.
                drop((go_write, done_read));
                let mut byte = [0];
                let mut written = false;
                // Nothing to read means that the other process has ended.
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
        // Without this the child would stay as a zombie.
        let _ = nix::sys::wait::waitpid(self.child, None);
        if read == 1 && answer == [1] {
            return Ok(());
        }
        // Root of a user namespace that maps one user can only map that user.
        let uid = Uid::effective();
        let gid = Gid::effective();
        let _ = fs::write("/proc/self/setgroups", "deny");
        // Until they are mapped, user and group appear as the overflow number.
        let of = |id: u32| if id == OVERFLOW_ID { 0 } else { id };
        let uid = of(uid.as_raw());
        let gid = of(gid.as_raw());
        write_map("/proc/self/uid_map", &format!("{uid} {uid} 1"))?;
        write_map("/proc/self/gid_map", &format!("{gid} {gid} 1"))
    }
}

/// The number of an unmapped user (`/proc/sys/kernel/overflowuid`).
const OVERFLOW_ID: u32 = 65534;

/// Returns a map of the same users, each mapped to itself.
fn onto_itself(map: &str) -> String {
    let ranges = map.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace();
        let first = numbers.next()?;
        // The second number is the first one outside of the namespace (user_namespaces(7)).
        let _ = numbers.next()?;
        let count = numbers.next()?;
        Some(format!("{first} {first} {count}\n"))
    });
    ranges.collect()
}

/// Returns the lowest and the highest group of a map, in the form of `ping_group_range`.
///
/// The kernel refuses a range of which one end is not mapped. Unless root runs this process, its
/// own group is the only mapped one.
fn mapped_groups(map: &str) -> Option<String> {
    let ranges = map.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace().map(|number| number.parse::<u64>().ok());
        let first = numbers.next()??;
        let count = numbers.nth(1)??;
        Some((first, first + count.checked_sub(1)?))
    });
    let lowest = ranges.clone().map(|range| range.0).min()?;
    let highest = ranges.map(|range| range.1).max()?;
    Some(format!("{lowest} {highest}"))
}

/// A network namespace. It exists at least as long as this handle.
#[derive(Debug)]
pub struct Network(File);

impl Network {
    /// Creates a network namespace with only a loopback interface and moves this thread into it.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn create() -> Result<Self, LiveError> {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| {
            LiveError::system("network namespaces cannot be used", errno).help(restriction_advice())
        })?;
        let network = Self::current()?;
        Netlink::open()?.set_up(netlink::index_of("lo")?, None, None)?;
        Ok(network)
    }

    /// Returns the network namespace of a handle.
    pub(crate) fn from_handle(handle: OwnedFd) -> Self {
        Self(File::from(handle))
    }

    /// Returns the network namespace of this thread.
    ///
    /// # Errors
    /// /proc is not mounted.
    pub fn current() -> Result<Self, LiveError> {
        // Each thread can be in another network namespace; `/proc/self` is that of the first
        // thread.
        File::open("/proc/thread-self/ns/net").map(Self).map_err(|error| {
            LiveError::system("the network namespace cannot be opened", error).help("/proc must be mounted")
        })
    }

    /// Moves this thread into the namespace.
    ///
    /// # Errors
    /// This process lacks the privilege.
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

/// One end of the bottleneck as programs see it: an interface with addresses and default routes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// Name of the interface.
    pub interface: String,
    /// IPv4 address.
    pub v4: Ipv4Addr,
    /// IPv6 address, if any.
    pub v6: Option<Ipv6Addr>,
    /// MTU in bytes.
    pub mtu: u32,
    /// TCP settings of its routes.
    pub tcp: RouteTcp,
    /// True to switch off segmentation offload, so that TCP sends segment by segment.
    pub segment_at_sender: bool,
    /// Settings below `/proc/sys/net` that must hold: key and value.
    pub sysctls: Vec<(String, String)>,
}

/// Returns the default ends of a bottleneck: the client's and the server's.
///
/// 198.18.0.0/15 is reserved for benchmarks (RFC 2544, RFC 6890), 2001:2::/48 for the same with
/// IPv6 (RFC 5180). No host on the Internet has these addresses.
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
    /// Creates the interface in the network namespace of this thread and configures it.
    ///
    /// # Errors
    /// The system refuses a step. Earlier steps leave nothing behind.
    pub fn create(&self) -> Result<(Tun, Netlink, u32), LiveError> {
        let tun = Tun::create(&self.interface)?;
        let index = netlink::index_of(&self.interface)?;
        be_silent(&self.interface);
        // Any group may `ping`, and any program may use ports below 1024: there is nobody to
        // protect.
        if let Some(groups) = mapped_groups(&fs::read_to_string("/proc/self/gid_map").unwrap_or_default()) {
            let _ = settings::set("ipv4/ping_group_range", &groups);
        }
        let _ = settings::set("ipv4/ip_unprivileged_port_start", "0");
        // A run must not inherit path metrics that an earlier one has learned.
        let _ = settings::set("ipv4/tcp_no_metrics_save", "1");
        for (key, value) in &self.sysctls {
            settings::set(key, value).map_err(|error| {
                LiveError::system(format_args!("net/{key} cannot be set to {value}"), error)
            })?;
        }
        let mut netlink = Netlink::open()?;
        netlink.set_up(index, Some(self.mtu), Some(TUN_QUEUE))?;
        if self.segment_at_sender {
            // Not essential: without it, an older kernel sends in bursts.
            let _ = netlink.segment_at_sender(index);
        }
        netlink.add_address(index, IpAddr::V4(self.v4), 24)?;
        netlink.add_default_route(index, ANY_V4, self.tcp)?;
        // A kernel may have no IPv6 or have it disabled, and IPv6 needs an MTU of 1280 bytes (RFC
        // 8200 §5).
        if let Some(v6) = self.v6
            && netlink.add_address(index, IpAddr::V6(v6), 64).is_ok()
        {
            netlink.add_default_route(index, ANY_V6, self.tcp)?;
        }
        Ok((tun, netlink, index))
    }
}

/// Keeps IPv6 of this interface silent. The link must carry the programs' packets only: no router
/// solicitations, no announcement of a link-local address.
pub(crate) fn be_silent(interface: &str) {
    // 1 stands for no generated address (`IN6_ADDR_GEN_MODE_NONE`).
    for (key, value) in [("router_solicitations", "0"), ("accept_ra", "0"), ("addr_gen_mode", "1")] {
        let _ = settings::set(&format!("ipv6/conf/{interface}/{key}"), value);
    }
}

/// Gives up all capabilities of this thread for good, and checks that they are gone. Threads and
/// programs that it starts have none either. Other threads of this process keep theirs.
///
/// # Errors
/// A capability remains.
pub fn drop_privileges() -> Result<(), LiveError> {
    drop_privileges_except(None)
}

/// Like [`drop_privileges`], but this thread keeps one capability if it has it.
pub(crate) fn drop_privileges_except(kept: Option<caps::Capability>) -> Result<(), LiveError> {
    let failed =
        |error: caps::errors::CapsError| LiveError::new(format!("privileges cannot be given up: {error}"));
    // Programs with the set-user-ID bit or file capabilities give no privileges from here on.
    nix::sys::prctl::set_no_new_privs()
        .map_err(|errno| LiveError::system("privileges cannot be given up", errno))?;
    let mut rest = caps::read(None, caps::CapSet::Permitted).map_err(failed)?;
    rest.retain(|capability| Some(*capability) == kept);
    for set in [caps::CapSet::Ambient, caps::CapSet::Inheritable] {
        caps::clear(None, set).map_err(failed)?;
    }
    // In this order, because the kernel refuses an effective capability that is not permitted.
    for set in [caps::CapSet::Effective, caps::CapSet::Permitted] {
        caps::set(None, set, &rest).map_err(failed)?;
    }
    // An attempt to regain one must fail. Nobody keeps this one.
    let regained = caps::raise(None, caps::CapSet::Effective, caps::Capability::CAP_SYS_ADMIN).is_ok();
    let left = caps::read(None, caps::CapSet::Permitted).map_err(failed)?;
    if regained || left != rest {
        return Err(LiveError::new("privileges were given up but are still present"));
    }
    Ok(())
}

/// Name of the interface at both ends.
pub const INTERFACE: &str = "goodqueue";

/// Length of the kernel's transmit queue in packets. The default of 500 would act as a second queue
/// in front of ours. The loop empties the queue whenever it runs, so packets wait there only while
/// the loop is late; overflows are counted and reported. 256 packets are 300 ms at 10 Mbit/s, or
/// the initial windows (RFC 6928) of 25 connections that start at once.
pub const TUN_QUEUE: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_that_may_ping_are_all_mapped_ones() {
        // 4294967295 stands for no group, so all groups are one fewer.
        assert_eq!(mapped_groups("         0          0 4294967295\n").as_deref(), Some("0 4294967294"));
        // An ordinary user maps one group.
        assert_eq!(mapped_groups("      1000       1000          1\n").as_deref(), Some("1000 1000"));
        // Root of a container without privileges, whose lines may have any order.
        let container = "1 100000 65536\n0 1000 1\n";
        assert_eq!(mapped_groups(container).as_deref(), Some("0 65536"));
        for odd in ["", "0 0 0\n", "0 0\n", "a b c\n"] {
            assert_eq!(mapped_groups(odd), None, "{odd:?}");
        }
    }
}
