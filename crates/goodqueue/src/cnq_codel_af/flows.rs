//! The state of 65,536 flows, most of which never send a packet.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::law::Vars;

/// One flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FlowState {
    /// Its packets in the bulk queue, with the dummy.
    pub(super) backlog: u32,
    pub(super) vars: Vars,
}

/// The states by flow number, in pages that the first packet of a flow brings into being.
#[derive(Clone, Debug)]
pub(super) struct FlowTable {
    pages: Vec<Option<Page>>,
    /// Flows with a backlog.
    pub(super) active: u32,
}

type Page = Box<[FlowState; PAGE]>;

impl FlowTable {
    pub(super) fn new() -> Self {
        Self { pages: vec![None; PAGES], active: 0 }
    }

    /// The state of a flow; `None` if no flow of its page ever sent a packet, so that the state is
    /// the first one.
    pub(super) fn known(&self, flow: u16) -> Option<&FlowState> {
        self.pages.get(page_of(flow))?.as_deref()?.get(place_of(flow))
    }

    pub(super) fn known_mut(&mut self, flow: u16) -> Option<&mut FlowState> {
        self.pages.get_mut(page_of(flow))?.as_deref_mut()?.get_mut(place_of(flow))
    }

    pub(super) fn backlog(&self, flow: u16) -> u32 {
        self.known(flow).map_or(0, |state| state.backlog)
    }

    /// A packet or a dummy of the flow enters the bulk queue.
    pub(super) fn enters(&mut self, flow: u16) {
        let Some(page) = self.pages.get_mut(page_of(flow)) else { return };
        let page = page.get_or_insert_with(|| Box::new([FlowState::NEW; PAGE]));
        let Some(state) = page.get_mut(place_of(flow)) else { return };
        self.active = self.active.wrapping_add(u32::from(state.backlog == 0));
        state.backlog = state.backlog.saturating_add(1);
    }

    /// A packet or a dummy of the flow leaves the bulk queue.
    pub(super) fn leaves(&mut self, flow: u16) {
        let Some(state) = self.known_mut(flow) else { return };
        state.backlog = state.backlog.saturating_sub(1);
        let is_idle = state.backlog == 0;
        self.active = self.active.wrapping_sub(u32::from(is_idle));
    }

    /// Pages in memory.
    #[cfg(test)]
    pub(super) fn pages(&self) -> usize {
        self.pages.iter().flatten().count()
    }

    /// Forgets all flows.
    pub(super) fn clear(&mut self) {
        self.pages.fill(None);
        self.active = 0;
    }
}

impl FlowState {
    const NEW: Self = Self { backlog: 0, vars: Vars::NEW };
}

const fn page_of(flow: u16) -> usize {
    flow as usize / PAGE
}

const fn place_of(flow: u16) -> usize {
    flow as usize % PAGE
}

/// Flows of a page, which has 2.5 KiB.
const PAGE: usize = 64;
/// Pages of all 65,536 flow numbers.
const PAGES: usize = 1024;

const _: () = assert!(size_of::<FlowState>() <= 40, "a page of 64 flows has 2.5 KiB");
