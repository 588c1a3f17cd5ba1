//! A TCP sender and receiver without sockets.
