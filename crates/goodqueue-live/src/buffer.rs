//! Memory for packets: a pool with a bound in bytes, so that no flood can make the process grow.

use std::cell::RefCell;
use std::rc::Rc;

/// A pool of packet buffers. Clones share it.
///
/// Buffers come in one size, [`SLAB`], for all packets up to it; larger ones are made to measure. What a dropped packet
/// leaves is used again.
#[derive(Clone, Debug)]
pub struct Pool(Rc<RefCell<State>>);

#[derive(Debug)]
struct State {
    free: Vec<Box<[u8]>>,
    in_use: usize,
    most: usize,
    limit: usize,
}

/// Bytes of a common buffer: an Ethernet frame and a VLAN tag fit, and two of them make a page.
pub const SLAB: usize = 2048;

impl Pool {
    /// A pool that hands out `limit` bytes at most at any time.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self(Rc::new(RefCell::new(State { free: Vec::new(), in_use: 0, most: 0, limit })))
    }

    /// A buffer with a copy of `bytes`; `None` if the pool has given out all that it may.
    #[must_use]
    pub fn copy(&self, bytes: &[u8]) -> Option<Buffer> {
        let mut buffer = self.take(bytes.len())?;
        buffer.bytes_mut().copy_from_slice(bytes);
        Some(buffer)
    }

    /// A buffer of `len` bytes, whatever they are; `None` if the pool has given out all that it may.
    #[must_use]
    pub fn take(&self, len: usize) -> Option<Buffer> {
        let size = len.max(SLAB);
        let mut state = self.0.borrow_mut();
        if state.in_use + size > state.limit {
            return None;
        }
        state.in_use += size;
        state.most = state.most.max(state.in_use);
        let memory = if size == SLAB { state.free.pop() } else { None }
            .unwrap_or_else(|| vec![0; size].into_boxed_slice());
        Some(Buffer { memory, len, pool: self.clone() })
    }

    /// Bytes handed out now.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.0.borrow().in_use
    }

    /// Bytes handed out at most so far.
    #[must_use]
    pub fn most(&self) -> usize {
        self.0.borrow().most
    }
}

/// The bytes of one packet. Its memory goes back to the pool when it is dropped.
#[derive(Debug)]
pub struct Buffer {
    memory: Box<[u8]>,
    len: usize,
    pool: Pool,
}

impl Buffer {
    /// The packet.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.memory.get(..self.len).unwrap_or_default()
    }

    /// The packet, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.get_mut(..self.len).unwrap_or_default()
    }

    /// A second buffer of the same content, if the pool has one.
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
}
