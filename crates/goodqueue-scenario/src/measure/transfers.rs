//! Completion times of transfers: files, web connections, pages, groups of flows.

use goodqueue::Instant;
use goodqueue_sim::traffic::Transfer;
use goodqueue_sim::{Config, FlowConfig, Outcome, Traffic};

use super::labels::FlowLabels;
use crate::results::{GroupResult, Transfers, WebProbe};
use crate::statistics::{exact_summary, seconds};

pub(super) fn summary_of_transfers<'t>(transfers: impl IntoIterator<Item = &'t Transfer>) -> Transfers {
    let mut begun = 0;
    let mut times = Vec::new();
    for transfer in transfers {
        begun += 1;
        times.extend(transfer.ended_at.map(|end| seconds(end.since(transfer.begun_at))));
    }
    Transfers { begun, completed: times.len() as u64, time_s: exact_summary(&times) }
}

/// All pages of all browsers.
pub(super) fn web(config: &Config, outcome: &Outcome) -> Option<WebProbe> {
    let mut is_there = false;
    let mut requests = 0;
    let mut bytes = 0;
    let mut all = Vec::new();
    for (flow, seen) in config.flows.iter().zip(&outcome.flows) {
        let Traffic::Web(browser) = &flow.traffic else { continue };
        is_there = true;
        for page in seen.transfers.iter().filter(|page| page.ended_at.is_some()) {
            requests += browser.page.objects().len() as u64;
            bytes += page.bytes;
        }
        all.extend(&seen.transfers);
    }
    is_there.then(|| {
        let Transfers { begun, completed, time_s } = summary_of_transfers(all);
        WebProbe { pages: begun, completed, requests, bytes, page_fetch_s: time_s }
    })
}

/// Returns the completion times of TCP flows with a size that started in the measured time, and of
/// all transfers except pages.
pub(super) fn completion(config: &Config, outcome: &Outcome) -> Option<Transfers> {
    let warm_at = Instant::ZERO + config.warmup;
    let mut is_there = false;
    let mut all = Vec::new();
    for (flow, seen) in config.flows.iter().zip(&outcome.flows) {
        match &flow.traffic {
            Traffic::Tcp(tcp) => {
                let Some(bytes) = tcp.size else { continue };
                if flow.start >= warm_at {
                    all.push(Transfer { begun_at: flow.start, ended_at: seen.tally.completed_at, bytes });
                }
            }
            // Pages have a probe of their own (`web`).
            Traffic::Web(_) => continue,
            traffic if traffic.is_of_pieces() => all.extend_from_slice(&seen.transfers),
            _ => continue,
        }
        is_there = true;
    }
    is_there.then(|| summary_of_transfers(&all))
}

/// The tables of several sized TCP flows.
pub(super) fn groups(tables: &[FlowLabels], config: &Config, outcome: &Outcome) -> Vec<GroupResult> {
    let mut results = Vec::new();
    let mut flows = config.flows.iter().zip(&outcome.flows);
    for (table, labels) in (0_u32..).zip(tables) {
        let members: Vec<_> = flows.by_ref().take(labels.count as usize).collect();
        let is_sized = |flow: &FlowConfig| matches!(&flow.traffic, Traffic::Tcp(tcp) if tcp.size.is_some());
        if members.len() < 2 || !members.iter().all(|(flow, _)| is_sized(flow)) {
            continue;
        }
        let ends: Vec<Instant> = members.iter().filter_map(|(_, seen)| seen.tally.completed_at).collect();
        let begun_at = members.iter().map(|(flow, _)| flow.start).min();
        // A group has a response time only if all of its transfers are complete.
        let ended_at = ends.iter().copied().max().filter(|_| ends.len() == members.len());
        results.push(GroupResult {
            table,
            flows: labels.count,
            completed: u32::try_from(ends.len()).unwrap_or(u32::MAX),
            response_s: begun_at.zip(ended_at).map(|(begin, end)| seconds(end.since(begin))),
        });
    }
    results
}

#[cfg(test)]
mod tests;
