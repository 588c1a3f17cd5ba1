//! The first process of a program's namespaces.
//!
//! It is in the outer of two user namespaces until it has mounted the files that programs find.
//! If root runs it, it then enters the inner one, in which those mounts are locked.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration as SystemDuration;

use goodqueue_tc::printable;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, Uid};

use super::config::{Server, ShellConfig};
use super::handover::{self, Namespaces};
use crate::builtin;
use crate::error::LiveError;
use crate::namespace::{self, End, Network};
use crate::nat;
use crate::process::{self, Descriptors, Forked};
use crate::settings;

/// The first process of the program's namespaces. It starts the others, reaps them, and ends them
/// with itself.
pub(super) struct Init<'a> {
    pub(super) config: &'a ShellConfig,
    pub(super) ends: &'a [End; 2],
}

/// The processes of the user's programs.
#[derive(Clone, Copy)]
struct Started {
    program: Pid,
    /// `None` if the server is built in or the host.
    server: Option<Pid>,
}

/// The networks of the programs.
struct Networks {
    client: Network,
    /// `None` if the host is the server.
    server: Option<Network>,
}

impl Init<'_> {
    /// Runs the process and returns the exit code. The process must end with [`process::leave`]
    /// then.
    pub(super) fn run(self, mut parent: UnixStream) -> i32 {
        if process::die_with_parent().is_err() {
            return 1;
        }
        let networks = match self.prepare(&parent) {
            Ok(networks) => networks,
            Err(error) => {
                handover::send_error(&parent, &error);
                return 1;
            }
        };
        // The parent answers only if it still lives after `die_with_parent` took effect. If it has
        // died, the read fails.
        let together = process::die_with_parent().is_ok()
            && process::keep_others_out().is_ok()
            && parent.read_exact(&mut [0]).is_ok();
        if !together {
            return 1;
        }
        drop(parent);
        let started =
            networks.close_inherited().map_err(|error| (2, error)).and_then(|()| self.start_both(networks));
        match started {
            Ok(started) => attend(started),
            Err((code, error)) => {
                report(&error);
                code
            }
        }
    }

    /// Makes the namespaces and files of the programs, and tells the parent.
    fn prepare(&self, parent: &UnixStream) -> Result<Networks, LiveError> {
        let has_own_processes = self.make_own_files() && std::process::id() == 1;
        let user = if Uid::effective().is_root() { Some(within()?) } else { None };
        let server = match &self.config.server {
            Server::Host { .. } => None,
            Server::BuiltIn | Server::Command(_) => Some(Network::create()?),
        };
        let client = Network::create()?;
        let copy = |network: &Network| {
            let copied = network.as_fd().try_clone_to_owned();
            copied.map_err(|error| LiveError::system("a network namespace cannot be handed over", error))
        };
        let networks = std::iter::once(&client).chain(&server).map(copy).collect::<Result<_, _>>()?;
        Namespaces { is_out_of_sight: has_own_processes, user, networks }.send(parent)?;
        Ok(Networks { client, server })
    }

    /// Mounts a /proc with the processes of this namespace, and an /etc/hosts with the names
    /// `client` and `server`. If that fails, programs see those of the host. Returns true if they
    /// have their own /proc.
    fn make_own_files(&self) -> bool {
        if unshare(CloneFlags::CLONE_NEWNS).is_err() {
            return false;
        }
        let none: Option<&str> = None;
        // Mounts must not propagate to other mount namespaces.
        if mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).is_err() {
            return false;
        }
        let has_own_proc = mount(
            Some("goodqueue"),
            "/proc",
            Some("proc"),
            MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC,
            none,
        )
        .is_ok();
        let of_host = fs::read_to_string("/etc/hosts").unwrap_or_default();
        let mut hosts = String::new();
        for (end, name) in self.ends.iter().zip(["client", "server"]) {
            hosts.push_str(&format!("{} {name}\n", end.v4));
            hosts.extend(end.v6.map(|v6| format!("{v6} {name}\n")));
        }
        hosts.push_str(&of_host);
        // Without its own server, the program uses the host's networks and name servers.
        let uses_host = matches!(self.config.server, Server::Host { .. });
        let name_servers = if uses_host { nat::name_servers() } else { None };
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
        has_own_proc
    }

    #[expect(unsafe_code, reason = "closes descriptors that the program has inherited")]
    fn start_both(self, networks: Networks) -> Result<Started, (i32, LiveError)> {
        let cannot = |error| (2, error);
        let server_process = match &networks.server {
            Some(server) => {
                server.enter().map_err(cannot)?;
                self.start_server()?
            }
            None => None,
        };
        networks.client.enter().map_err(cannot)?;
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
        drop(networks);
        // SAFETY: the owners of all other descriptors are below this frame on the stack, and this
        // process ends with `leave`.
        unsafe { process::close_descriptors(Descriptors::All, &[]) }
            .map_err(|error| cannot(descriptors_stay(error)))?;
        Ok(Started { program: pid_of(&started), server: server_process.as_ref().map(pid_of) })
    }

    /// Starts the server. Returns its process if it is a command.
    #[expect(unsafe_code, reason = "closes descriptors whose owners are on the stack")]
    fn start_server(&self) -> Result<Option<Child>, (i32, LiveError)> {
        let cannot = |error| (2, error);
        match &self.config.server {
            Server::Command(command) => {
                let server = process::as_if_from_a_shell(
                    // Standard input is the program's.
                    Command::new("/bin/sh").arg("-c").arg(command).stdin(Stdio::null()),
                )
                .spawn()
                .map_err(|error| cannot(LiveError::system("the server cannot be started", error)))?;
                wait_for_listener();
                Ok(Some(server))
            }
            Server::BuiltIn | Server::Host { .. } => {
                let failed =
                    |error| cannot(LiveError::system("the built-in server cannot be started", error));
                let (mut ready, tell) = std::io::pipe().map_err(failed)?;
                let forked = process::fork_together().map_err(|errno| failed(errno.into()))?;
                if matches!(forked, Forked::Child) {
                    // SAFETY: the server opens all its other descriptors itself, and this process
                    // ends with `leave`.
                    let alone = unsafe { process::close_descriptors(Descriptors::All, &[tell.as_fd()]) }
                        .is_ok()
                        && process::keep_others_out().is_ok()
                        && namespace::drop_privileges().is_ok();
                    if alone {
                        builtin::serve(tell);
                    }
                    process::leave(0)
                }
                drop(tell);
                // If the server ends, this returns as well.
                let _ = ready.read(&mut [0]);
                Ok(None)
            }
        }
    }
}

impl Networks {
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
}

/// Moves this process into an inner user namespace with a mount namespace of its own, in which
/// nobody can undo the mounts of the outer one. Returns the user namespace.
fn within() -> Result<File, LiveError> {
    settings::protect()?;
    namespace::enter_user_namespace()?;
    unshare(CloneFlags::CLONE_NEWNS)
        .map_err(|errno| LiveError::system("mount namespaces cannot be used", errno))?;
    File::open("/proc/self/ns/user")
        .map_err(|error| LiveError::system("the user namespace cannot be opened", error))
}

fn descriptors_stay(error: std::io::Error) -> LiveError {
    LiveError::system("inherited descriptors cannot be closed", error).help("/proc must be mounted")
}

/// Prints the error of a program that cannot be started, or of the server. A standard error that
/// cannot be written must not change the exit code.
#[expect(clippy::disallowed_methods, reason = "the process of the command line does not see this error")]
fn report(error: &LiveError) {
    let _ = writeln!(std::io::stderr(), "error: {}", printable::lines(&error.to_string()));
}

/// Returns the exit code of a process that has ended.
pub(super) fn code_of(status: WaitStatus) -> Option<i32> {
    match status {
        WaitStatus::Exited(_, code) => Some(code),
        WaitStatus::Signaled(_, signal, _) => Some(128 + signal as i32),
        _ => None,
    }
}

fn pid_of(process: &Child) -> Pid {
    Pid::from_raw(process.id().cast_signed())
}

/// Waits for the program, and reaps all other processes. Tells if the server fails before that.
fn attend(Started { program, server }: Started) -> i32 {
    // A signal may end the server before the program.
    let mut is_ending = false;
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
            if let WaitStatus::Exited(pid, code) = status
                && Some(pid) == server
                && code != 0
                && !is_ending
            {
                report(&LiveError::new(format!("the server of --serve ended with exit code {code}")));
            }
        }
        let signal = set.wait();
        is_ending |= signal != Ok(Signal::SIGCHLD);
        if let Ok(signal @ (Signal::SIGTERM | Signal::SIGHUP)) = signal {
            // -1 stands for all processes of this namespace except this one.
            let them = if std::process::id() == 1 { Pid::from_raw(-1) } else { program };
            let _ = kill(them, signal);
            if signal == Signal::SIGHUP {
                // As at the hangup of a terminal: a stopped program would not notice.
                let _ = kill(them, Signal::SIGCONT);
            }
        }
    }
}

/// Gives the remaining processes a moment to end before the kernel kills them.
fn end_the_others() {
    // Outside of a process namespace, -1 would stand for all processes of the user (kill(2)).
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

/// Waits until a process in this network namespace listens, for at most one second, because a
/// server of the user's may never do so. A client that starts sooner would find no server.
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
