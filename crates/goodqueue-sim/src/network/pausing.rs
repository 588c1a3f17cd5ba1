//! Which devices of a path send PAUSE frames, and the frames on their way.

use std::collections::VecDeque;

use crate::id::LinkId;
use crate::pause::Sender;

/// The devices of a path that send PAUSE frames.
#[derive(Clone, Debug)]
pub(super) struct FlowControl {
    /// By link: the device in front of the link whose buffer is the link's queue.
    pub(super) devices: Vec<Option<Device>>,
    /// By link: the `pause_time` of each frame on its way to the link. All frames to a link take
    /// the same way, so they arrive in order.
    pub(super) frames: Vec<VecDeque<u16>>,
}

/// A device that sends PAUSE frames.
#[derive(Clone, Debug)]
pub(super) struct Device {
    pub(super) sender: Sender,
    /// The link that the device pauses.
    pub(super) before: LinkId,
}
