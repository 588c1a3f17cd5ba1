//! Memory for packets: a pool with a limit in bytes, so that no flood of packets can exhaust the
//! machine's memory.

use std::cell::RefCell;
use std::rc::Rc;

/// A pool of packet buffers. Clones share the same pool.
///
/// Packets of up to [`SLAB`] bytes get a buffer of that size, which is reused. Larger packets get a
/// buffer of exactly their length.
#[derive(Clone, Debug)]
pub struct Pool(Rc<RefCell<State>>);

#[derive(Debug)]
struct State {
    free: Vec<Box<[u8]>>,
    in_use: usize,
    most: usize,
    limit: usize,
}

/// Bytes of a reusable buffer. An Ethernet frame with a VLAN tag fits, and two buffers make a page.
pub const SLAB: usize = 2048;

impl Pool {
    /// Creates a pool that hands out at most `limit` bytes at a time. Buffers that wait for their
    /// next use are within the limit too.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self(Rc::new(RefCell::new(State { free: Vec::new(), in_use: 0, most: 0, limit })))
    }

    /// Returns a buffer with a copy of `bytes`, or `None` at the limit.
    #[must_use]
    pub fn copy(&self, bytes: &[u8]) -> Option<Buffer> {
        let mut buffer = self.take(bytes.len())?;
        buffer.bytes_mut().copy_from_slice(bytes);
        Some(buffer)
    }

    /// Returns a buffer of `len` bytes with arbitrary contents, or `None` at the limit.
    #[must_use]
    pub fn take(&self, len: usize) -> Option<Buffer> {
        let size = len.max(SLAB);
        let mut state = self.0.borrow_mut();
        if state.in_use + size > state.limit {
            return None;
        }
        let reused = if size == SLAB { state.free.pop() } else { None };
        state.in_use += size;
        state.most = state.most.max(state.in_use);
        // Memory that is kept for its next use counts towards the limit, so it makes room for this
        // buffer.
        state.release_excess();
        let memory = reused.unwrap_or_else(|| vec![0; size].into_boxed_slice());
        Some(Buffer { memory, len, pool: self.clone() })
    }

    /// Hands out at most `limit` bytes at a time from now on.
    pub fn set_limit(&self, limit: usize) {
        let mut state = self.0.borrow_mut();
        state.limit = limit;
        state.release_excess();
    }

    /// Returns the most bytes handed out at a time.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.0.borrow().limit
    }

    /// Returns the bytes handed out now.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.0.borrow().in_use
    }

    /// Returns the maximum of the bytes handed out so far.
    #[must_use]
    pub fn most(&self) -> usize {
        self.0.borrow().most
    }
}

impl State {
    /// Releases buffers that wait for their next use, until they and those in use are within the
    /// limit. A large packet can thus not take its memory beside that of many small ones.
    fn release_excess(&mut self) {
        self.free.truncate(self.limit.saturating_sub(self.in_use) / SLAB);
    }
}

/// The bytes of one packet. Dropping it returns the memory to the pool.
#[derive(Debug)]
pub struct Buffer {
    memory: Box<[u8]>,
    len: usize,
    pool: Pool,
}

impl Buffer {
    /// Returns the packet.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.memory.get(..self.len).unwrap_or_default()
    }

    /// Returns the packet for changes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.get_mut(..self.len).unwrap_or_default()
    }

    /// Returns a copy, or `None` at the pool's limit.
    #[must_use]
    pub fn duplicate(&self) -> Option<Self> {
        self.pool.copy(self.bytes())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        let mut state = self.pool.0.borrow_mut();
        state.in_use = state.in_use.saturating_sub(memory.len());
        if memory.len() == SLAB {
            state.free.push(memory);
            // After a change to a lower limit this buffer may be beyond it.
            state.release_excess();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_and_never_beyond_the_limit() {
        let pool = Pool::new(3 * SLAB);
        let mut held: Vec<Buffer> = (0..3).map(|n| pool.copy(&[n; 100]).unwrap()).collect();
        assert!(pool.copy(&[9]).is_none(), "the fourth is beyond the limit");
        assert_eq!(held[1].bytes(), [1; 100]);
        held.remove(0);
        assert!(pool.copy(&[0; SLAB + 1]).is_none(), "a large one needs more than what is left");
        assert_eq!(pool.copy(&[7; 5]).unwrap().bytes(), [7; 5], "shorter than what the buffer held before");
        drop(held);
        assert_eq!(pool.in_use(), 0);
        assert_eq!(pool.copy(&[3; 3 * SLAB]).unwrap().bytes().len(), 3 * SLAB);
        assert_eq!(pool.most(), 3 * SLAB);
    }

    #[test]
    fn buffers_kept_for_their_next_use_count_towards_the_limit() {
        let pool = Pool::new(3 * SLAB);
        let allocated = || {
            let state = pool.0.borrow();
            state.in_use + state.free.len() * SLAB
        };
        drop((0..3).map(|n| pool.copy(&[n; 100]).unwrap()).collect::<Vec<_>>());
        assert_eq!(allocated(), 3 * SLAB, "all are kept");
        let large = pool.copy(&[1; 2 * SLAB]).unwrap();
        assert_eq!(allocated(), 3 * SLAB, "two of them made room");
        drop(large);
        let held = [2, 3].map(|n| pool.copy(&[n; 100]).unwrap());
        pool.set_limit(SLAB);
        assert_eq!(allocated(), 2 * SLAB, "packets keep their memory at a lower limit");
        drop(held);
        assert_eq!(allocated(), SLAB);
        pool.set_limit(0);
        assert_eq!(allocated(), 0);
    }
}
