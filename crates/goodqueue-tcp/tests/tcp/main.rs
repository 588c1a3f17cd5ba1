//! TCP told as stories in simulated time: what is sent, lost, marked; what happens then, and when.

mod accecn;
mod acks;
mod controllers;
mod delivery_rate;
mod ecn;
mod fack;
mod frto;
mod growth;
mod handshake;
mod hostile;
mod hystart;
mod libutp;
mod linux;
mod linux_receiver;
mod local;
mod ns2;
mod own_stack;
mod pair;
mod pauses;
mod prague;
mod profiles;
mod random;
mod recovery;
mod timers;
mod undo;
mod windows;
