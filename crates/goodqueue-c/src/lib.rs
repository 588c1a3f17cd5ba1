//! The links and queue disciplines of goodqueue for C and C++.
//!
//! The functions here are those of the header `include/goodqueue.h`, which is written from this
//! file. A function `..._new` makes an object, which belongs to the caller and ends with the
//! function `..._free`. No object has a clock or may be used by two threads at a time.
//!
//! Times are nanoseconds since the beginning of the test, in one order: a time before that of an
//! earlier call counts as equal to it. [`GQ_NEVER`] is no time.

#![deny(unsafe_op_in_unsafe_fn)]

mod link;
mod packet;
mod queue;
mod text;
mod time;

pub use link::*;
pub use packet::*;
pub use queue::*;
pub use time::*;
