//! What a shell runs.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::bottleneck::BottleneckConfig;
use crate::namespace::End;

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
