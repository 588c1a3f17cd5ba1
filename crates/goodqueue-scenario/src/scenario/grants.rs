//! `grants` at the end of a link: the request-grant delay of a DOCSIS upstream.

use goodqueue::{Duration, Rate};
use goodqueue_sim::Grants;
use goodqueue_tc::diagnostic::Diagnostic;

use super::form::{Maybe, Own};
use super::keys::{Table, keys, written};
use super::plain::{Speed, time};

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
