//! The round against RFC 8290 word for word.

extern crate std;

use std::collections::VecDeque;

use super::*;
use crate::head::Source;
use crate::packet::Ecn;
use crate::random::{Random, Xoshiro256PlusPlus};

#[derive(Clone, Copy, PartialEq, Debug)]
struct Frame(u32, u32);

impl Packet for Frame {
    fn len(&self) -> u32 {
        self.1
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ce(&mut self) -> bool {
        false
    }
}

#[derive(Clone)]
struct NoAqm;

impl FlowAqm for NoAqm {
    type Params = ();

    fn decide<S: Source>(&mut self, _: Instant, (): &(), source: &mut S) -> bool {
        source.head().is_some()
    }
}

/// RFC 8290 §4.2 word for word: every round is gone through.
#[derive(Default)]
struct Literal {
    flows: [(VecDeque<Frame>, i64, bool); 12],
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl Literal {
    fn push(&mut self, flow: usize, frame: Frame, quantum: i64) {
        let (packets, deficit, listed) = &mut self.flows[flow];
        packets.push_back(frame);
        if !*listed {
            (*deficit, *listed) = (quantum, true);
            self.new.push_back(flow);
        }
    }

    fn pop(&mut self, quantum: i64) -> Option<Frame> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let flow = *list.front()?;
            let (packets, deficit, listed) = &mut self.flows[flow];
            if *deficit <= 0 {
                *deficit += quantum;
                list.pop_front();
                self.old.push_back(flow);
            } else if let Some(frame) = packets.pop_front() {
                *deficit -= i64::from(frame.1.max(1));
                return Some(frame);
            } else {
                list.pop_front();
                if from_new && !self.old.is_empty() {
                    self.old.push_back(flow);
                } else {
                    *listed = false;
                }
            }
        }
    }
}

#[test]
fn rounds_done_at_once_end_as_if_they_had_been_gone_through() {
    for quantum in [1, 3, 100, 1_514] {
        let mut random = Xoshiro256PlusPlus::new(u64::from(quantum));
        let mut queues = FlowQueues::new(12, NoAqm);
        let mut literal = Literal::default();
        for number in 0..4_000 {
            let flow = random.below(12);
            let len = [0, 1, 40, 1_514, 20_000][random.below(5) as usize];
            // Fewer arrivals than departures, so that flows become empty again and again.
            if random.below(9) < 4 {
                let frame = Frame(number, len);
                queues.push(Instant::ZERO, flow, frame, quantum);
                literal.push(flow as usize, frame, i64::from(quantum));
            } else {
                let ours = queues.pop(Instant::ZERO, quantum, &(), false, &mut |_, _| ());
                assert_eq!(ours, literal.pop(i64::from(quantum)), "quantum {quantum}, step {number}");
            }
        }
    }
}
