//! A program whose only network is the bottleneck.
//!
//! ```text
//! this process        in a user namespace, without privileges; carries the packets
//!  └ init             first process of a process namespace; killed with this process
//!     ├ server        in the server's network namespace: --serve, or the built-in server
//!     └ program       in the client's network namespace
//! ```

use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration as SystemDuration;

use goodqueue::Duration;
use goodqueue_tc::printable;
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::attendant::Attendant;
use crate::bottleneck::{Bottleneck, BottleneckConfig, Pause};
use crate::builtin;
use crate::clock::Clock;
use crate::device::Device;
use crate::error::LiveError;
use crate::namespace::{self, End, Network};
use crate::nat::{self, Nat};
use crate::process::{self, Descriptors, Forked};
use crate::settings;

/// A program to run, and its bottleneck.
#[derive(Clone, Debug)]
pub struct ShellConfig {
    /// The bottleneck.
    pub bottleneck: BottleneckConfig,
    /// The client's end and the server's.
    pub ends: [End; 2],
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The server at the other end.
    pub server: Server,
}

/// The server that the program reaches through the bottleneck.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Server {
    /// The built-in server, in its own network namespace.
    BuiltIn,
    /// A server started by a shell command, in its own network namespace.
    Command(String),
    /// The host and its networks.
    Host {
        /// Path of the undo file, which records changes to the host; `None` for the default below
        /// `/run`.
        undo_file: Option<PathBuf>,
    },
}

/// A program that runs behind a bottleneck.
#[derive(Debug)]
pub struct Shell {
    /// The bottleneck.
    pub bottleneck: Bottleneck,
    init: Pid,
    asked_to_end: bool,
    _host: Option<nat::Hold>,
}

impl Shell {
    /// Creates the namespaces and starts the program in them. The process must have one thread
    /// only. Afterwards it is in the client's namespaces.
    ///
    /// # Errors
    /// The system lacks or forbids something, or the program cannot be started. Nothing is left
    /// behind.
    pub fn start(config: &ShellConfig) -> Result<Self, LiveError> {
        let signals = block_signals()?;
        settings::make_writable();
        let mut ends = config.ends.clone();
        let host = match &config.server {
            Server::Host { undo_file } => Some(Nat::open(&mut ends, undo_file.as_deref())?),
            Server::BuiltIn | Server::Command(_) => None,
        };
        // Root may do this only outside of the user namespace.
        process::run_promptly();
        namespace::enter_user_namespace()?;
        let (server, server_tun, server_link, server_index, host) = match host {
            Some(Nat { tun, netlink, index, hold }) => (None, tun, netlink, index, Some(hold)),
            None => {
                let server = Network::create()?;
                let (tun, netlink, index) = ends[1].create()?;
                (Some(server), tun, netlink, index, None)
            }
        };
        let client = Network::create()?;
        let (client_tun, client_link, client_index) = ends[0].create()?;

        let failed = |errno: Errno| LiveError::system("the program's process cannot be started", errno);
        let (mut ours, theirs) =
            UnixStream::pair().map_err(|error| LiveError::system("the program cannot be started", error))?;
        // Without process namespaces everything else still works. At the end only our own children
        // are killed then, not the processes that they leave behind.
        let init = match process::fork_into_namespace().map_err(failed)? {
            Forked::Child => {
                drop((client_tun, server_tun, ours));
                let code = Init { config, ends: &ends, client, server }.run(theirs);
                process::leave(code)
            }
            Forked::Parent(init) => init,
        };
        drop((theirs, client, server));
        namespace::drop_privileges()?;
        let devices = [Device::Tun(client_tun), Device::Tun(server_tun)];
        let mut bottleneck = Bottleneck::new(Clock::start(), devices, &config.bottleneck)?;
        bottleneck.watch_signals(signals)?;
        bottleneck.watch_kernel((client_link, client_index), (server_link, server_index));
        let failed = |error| LiveError::system("the program cannot be started", error);
        let mut told = [0];
        ours.read_exact(&mut told).map_err(failed)?;
        if told != [IN_OWN_NAMESPACE] {
            // Programs can see this process and belong to the same user, so they could reach into
            // it.
            process::keep_others_out().map_err(|errno| failed(errno.into()))?;
        }
        ours.write_all(&[1]).map_err(failed)?;
        Ok(Self { bottleneck, init, asked_to_end: false, _host: host })
    }

    /// Carries packets until the program ends. Returns its exit code, or 128 plus the number of the
    /// signal that ended it.
    ///
    /// # Errors
    /// A device was deleted. The program has been killed.
    pub fn run(&mut self, attendant: &mut dyn Attendant) -> Result<i32, LiveError> {
        let outcome = self.carry(attendant);
        if outcome.is_err() {
            let _ = kill(self.init, Signal::SIGKILL);
            let _ = waitpid(self.init, None);
        }
        self.bottleneck.finish();
        outcome
    }

    fn carry(&mut self, attendant: &mut dyn Attendant) -> Result<i32, LiveError> {
        let mut tick = self.bottleneck.now();
        loop {
            match self.bottleneck.run_until(tick)? {
                Pause::Time => {
                    let now = self.bottleneck.now();
                    // Packets come first, whatever time it asks for.
                    tick = attendant.tick(&mut self.bottleneck, now).max(now + Duration::from_millis(1));
                }
                Pause::Request => attendant.request(&mut self.bottleneck),
                Pause::Signal(signal) => {
                    let number = i32::try_from(signal.ssi_signo).unwrap_or(0);
                    if number == libc::SIGCHLD {
                        if let Some(code) = self.ended() {
                            return Ok(code);
                        }
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
        let _ = kill(self.init, signal);
    }

    fn ended(&self) -> Option<i32> {
        match waitpid(self.init, Some(WaitPidFlag::WNOHANG)) {
            Ok(status) => code_of(status),
            Err(_) => Some(1),
        }
    }
}

/// Message of the first process: it has its own process namespace, in which no program sees this
/// process.
const IN_OWN_NAMESPACE: u8 = 1;

/// `si_code` of signals from the kernel, such as those of the keyboard (sigaction(2)).
const SI_KERNEL: i32 = 0x80;

fn block_signals() -> Result<SignalFd, LiveError> {
    let failed = |errno| LiveError::system("signals cannot be received", errno);
    let mut set = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGCHLD] {
        set.add(signal);
    }
    set.thread_block().map_err(failed)?;
    SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).map_err(failed)
}

/// Returns the exit code of a process that has ended.
fn code_of(status: WaitStatus) -> Option<i32> {
    match status {
        WaitStatus::Exited(_, code) => Some(code),
        WaitStatus::Signaled(_, signal, _) => Some(128 + signal as i32),
        _ => None,
    }
}

/// The first process of the program's namespaces. It starts the others, reaps them, and ends them
/// with itself.
struct Init<'a> {
    config: &'a ShellConfig,
    ends: &'a [End; 2],
    client: Network,
    server: Option<Network>,
}

impl Init<'_> {
    /// Runs the process and returns the exit code. The process must end with [`process::leave`]
    /// then.
    fn run(self, mut parent: UnixStream) -> i32 {
        // The parent answers only if it still lives after `die_with_parent` took effect. If it has
        // died, the read fails.
        let namespace = if std::process::id() == 1 { IN_OWN_NAMESPACE } else { 0 };
        let together = process::die_with_parent().is_ok()
            && process::keep_others_out().is_ok()
            && parent.write_all(&[namespace]).is_ok()
            && parent.read_exact(&mut [0]).is_ok();
        if !together {
            return 1;
        }
        drop(parent);
        let started = self.close_inherited().map_err(|error| (2, error)).and_then(|()| {
            self.make_own_files();
            self.start_both()
        });
        match started {
            Ok(program) => attend(Pid::from_raw(program.id().cast_signed())),
            Err((code, error)) => {
                report(&error);
                code
            }
        }
    }

    /// Closes the descriptors of the process that carries packets, because its sockets lead to the
    /// host's networks. Descriptors that the caller opened for the program stay open until the
    /// program has them.
    #[expect(unsafe_code, reason = "closes descriptors whose owners are on the stack")]
    fn close_inherited(&self) -> Result<(), LiveError> {
        let server = self.server.as_ref().map(AsFd::as_fd);
        let kept: Vec<BorrowedFd<'_>> = server.into_iter().chain([self.client.as_fd()]).collect();
        // SAFETY: of the descriptors opened before, only `kept` is used, and this process ends with
        // `leave`.
        unsafe { process::close_descriptors(Descriptors::Ours, &kept) }.map_err(descriptors_stay)
    }

    /// Mounts a /proc with the processes of this namespace, and an /etc/hosts with the names
    /// `client` and `server`. If that fails, programs see those of the host.
    fn make_own_files(&self) {
        if unshare(CloneFlags::CLONE_NEWNS).is_err() {
            return;
        }
        let none: Option<&str> = None;
        if mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).is_err() {
            return;
        }
        let _ = mount(
            Some(settings::SOURCE),
            "/proc",
            Some("proc"),
            MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC,
            none,
        );
        // A container may forbid this, and then has it read-only itself.
        let _ = settings::make_read_only();
        let of_host = fs::read_to_string("/etc/hosts").unwrap_or_default();
        let mut hosts = String::new();
        for (end, name) in self.ends.iter().zip(["client", "server"]) {
            hosts.push_str(&format!("{} {name}\n", end.v4));
            hosts.extend(end.v6.map(|v6| format!("{v6} {name}\n")));
        }
        hosts.push_str(&of_host);
        // Without its own server, the program uses the host's networks and name servers.
        let name_servers = if self.server.is_none() { nat::name_servers() } else { None };
        // The files are created in a temporary file system, which is detached after they are
        // mounted at their places.
        if mount(
            Some("tmpfs"),
            "/tmp",
            Some("tmpfs"),
            MsFlags::MS_NOSUID | MsFlags::MS_NODEV,
            Some("size=1m"),
        )
        .is_ok()
        {
            if fs::write("/tmp/hosts", hosts).is_ok() {
                let _ = mount(Some("/tmp/hosts"), "/etc/hosts", none, MsFlags::MS_BIND, none);
            }
            if let Some(servers) = name_servers
                && fs::write("/tmp/resolv.conf", servers).is_ok()
            {
                let _ = mount(Some("/tmp/resolv.conf"), "/etc/resolv.conf", none, MsFlags::MS_BIND, none);
            }
            let _ = umount2("/tmp", MntFlags::MNT_DETACH);
        }
    }

    #[expect(unsafe_code, reason = "closes descriptors that the program has inherited")]
    fn start_both(self) -> Result<Child, (i32, LiveError)> {
        let cannot = |error| (2, error);
        if let Some(server) = &self.server {
            server.enter().map_err(cannot)?;
            self.start_server()?;
            wait_for_listener();
        }
        self.client.enter().map_err(cannot)?;
        let (program, arguments) = self
            .config
            .command
            .split_first()
            .ok_or_else(|| cannot(LiveError::new("there is no program to run")))?;
        let [client, server] = self.ends;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("GOODQUEUE_SERVER", server.v4.to_string())
            .env("GOODQUEUE_CLIENT", client.v4.to_string());
        if let Some(v6) = server.v6 {
            command.env("GOODQUEUE_SERVER_V6", v6.to_string());
        }
        let started = process::as_if_from_a_shell(&mut command).spawn().map_err(|error| {
            // Exit codes of shells: 127 if the program does not exist, 126 if it cannot be run.
            let code = if error.kind() == ErrorKind::NotFound { 127 } else { 126 };
            let what = format_args!("`{}` cannot be run", program.display()).to_string();
            (code, LiveError::system(what, error))
        })?;
        drop((self.client, self.server));
        // SAFETY: the owners of all other descriptors are below this frame on the stack, and this
        // process ends with `leave`.
        unsafe { process::close_descriptors(Descriptors::All, &[]) }
            .map_err(|error| cannot(descriptors_stay(error)))?;
        Ok(started)
    }

    #[expect(unsafe_code, reason = "closes descriptors whose owners are on the stack")]
    fn start_server(&self) -> Result<(), (i32, LiveError)> {
        let cannot = |error| (2, error);
        match &self.config.server {
            Server::Command(command) => {
                process::as_if_from_a_shell(
                    Command::new("/bin/sh").arg("-c").arg(command).stdin(Stdio::null()),
                )
                .spawn()
                .map_err(|error| cannot(LiveError::system("the server cannot be started", error)))?;
            }
            Server::BuiltIn | Server::Host { .. } => {
                let forked = process::fork_together().map_err(|errno| {
                    cannot(LiveError::system("the built-in server cannot be started", errno))
                })?;
                if matches!(forked, Forked::Child) {
                    // SAFETY: the server opens all its descriptors itself, and this process ends
                    // with `leave`.
                    let alone = unsafe { process::close_descriptors(Descriptors::All, &[]) }.is_ok()
                        && process::keep_others_out().is_ok()
                        && namespace::drop_privileges().is_ok();
                    if alone {
                        builtin::serve();
                    }
                    process::leave(0)
                }
            }
        }
        Ok(())
    }
}

/// Prints the error of a program that cannot be started. A standard error that cannot be written
/// must not change the exit code.
#[expect(clippy::disallowed_methods, reason = "the process of the command line does not see this error")]
fn report(error: &LiveError) {
    let _ = writeln!(std::io::stderr(), "error: {}", printable::lines(&error.to_string()));
}

fn descriptors_stay(error: std::io::Error) -> LiveError {
    LiveError::system("inherited descriptors cannot be closed", error).help("/proc must be mounted")
}

/// Waits for the program, and reaps all other processes.
fn attend(program: Pid) -> i32 {
    // Signals have been blocked since before the fork. They wait for this set.
    let mut set = SigSet::empty();
    for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT] {
        set.add(signal);
    }
    loop {
        while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            if status == WaitStatus::StillAlive {
                break;
            }
            if status.pid() == Some(program)
                && let Some(code) = code_of(status)
            {
                end_the_others();
                return code;
            }
        }
        if set.wait() == Ok(Signal::SIGTERM) {
            if std::process::id() == 1 {
                // -1 stands for all processes of this namespace except this one.
                let _ = kill(Pid::from_raw(-1), Signal::SIGTERM);
            } else {
                let _ = kill(program, Signal::SIGTERM);
            }
        }
    }
}

/// Gives the remaining processes a moment to end before the kernel kills them.
fn end_the_others() {
    if std::process::id() != 1 {
        // Without a process namespace, at least our own children end with this process.
        return;
    }
    let _ = kill(Pid::from_raw(-1), Signal::SIGTERM);
    for _ in 0..20 {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => std::thread::sleep(SystemDuration::from_millis(10)),
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

/// Waits until a process in this network namespace listens, for at most one second. A client that
/// starts sooner would find no server.
fn wait_for_listener() {
    for _ in 0..100 {
        let listening = |file: &str, state: &str| {
            fs::read_to_string(format!("/proc/thread-self/net/{file}")).is_ok_and(|table| {
                table.lines().skip(1).any(|line| line.split_whitespace().nth(3) == Some(state))
            })
        };
        // TCP_LISTEN, and the state of an unconnected UDP socket (`include/net/tcp_states.h`).
        if ["tcp", "tcp6"].into_iter().any(|file| listening(file, "0A"))
            || ["udp", "udp6"].into_iter().any(|file| listening(file, "07"))
        {
            return;
        }
        std::thread::sleep(SystemDuration::from_millis(10));
    }
}
