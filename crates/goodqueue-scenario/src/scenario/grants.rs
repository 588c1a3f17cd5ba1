//! `grants` at the end of a link: the request-grant delay of a DOCSIS upstream.

use goodqueue::{Duration, Rate};
use goodqueue_sim::Grants;
use goodqueue_tc::diagnostic::Diagnostic;

use super::ends::LinkRate;
use super::form::{Maybe, Own};
use super::keys::{Table, keys, written};
use super::plain::{Speed, time};
use super::reader::Reader;

keys! {
    /// Requests and grants of a DOCSIS upstream.
    struct GrantsTable(table, _around: ()) {
        /// MAP interval. Requests are sent, and grants begin, at its multiples. The default is that
        /// of CableLabs' module for ns-3, 15 frames of 135 us.
        interval: Duration = "2025us", time("a MAP interval of {} is not possible", Grants::INTERVALS);
        /// Shortest time from a request to the interval of its grant. The default is about the
        /// mean that follows from the rules of CableLabs' module for ns-3.
        delay: Duration = "4ms", time("a request-grant delay of {} is not possible", Grants::DELAYS);
        /// Rate that is granted in each interval without a request (Proactive Grant Service), a
        /// part of the link's rate. Default: none.
        proactive: Option<Rate> = "1mbit", Maybe(PROACTIVE) => none;
    }
}

/// The keys of `grants`.
pub(super) const TABLE: &Table = &GrantsTable::TABLE;

/// Requests and grants.
pub(super) const GRANTS: Own<Grants> = Own {
    read: |table, key, node| {
        let inner = GrantsTable::TABLE.inside(table, key, node)?;
        let GrantsTable { interval, delay, proactive } = GrantsTable::read(&inner, ())?;
        Grants::new(interval, delay, proactive)
            .map_err(|error| inner.error(key, Diagnostic::new(error.to_string())))
    },
    write: |grants| {
        let table =
            GrantsTable { interval: grants.interval(), delay: grants.delay(), proactive: grants.proactive() };
        written(|object| table.write(object))
    },
    schema: || GrantsTable::TABLE.schema(),
    quantity: None,
};

const PROACTIVE: Speed = Speed {
    refusal: "a proactive rate of 0 grants nothing",
    allowed: "a rate above 0",
    help: "leave `proactive` out",
};

/// Checks that a link of this rate can have these grants. `end` is the table of the link's end.
pub(super) fn check(end: &Reader<'_>, rate: &LinkRate, grants: &Grants) -> Result<(), Diagnostic> {
    let highest = match rate {
        LinkRate::Fixed(rate) => *rate,
        LinkRate::Schedule(steps) => steps.iter().map(|step| step.1).max().unwrap_or_default(),
        LinkRate::Unlimited | LinkRate::Trace { .. } => {
            let message = Diagnostic::new("a link with `grants` needs a rate");
            return Err(end.error("grants", message.allowed("a rate, or a schedule of rates")));
        }
    };
    match grants.proactive() {
        Some(proactive) if proactive > highest => {
            let message =
                Diagnostic::new(format!("a proactive rate of {proactive} is above the link's rate"));
            Err(end.error("grants", message.allowed(format!("at most {highest}"))))
        }
        _ => Ok(()),
    }
}
