//! `kind = "packmime"`: the web connections of many users, with a mean number of new connections
//! per second.

use goodqueue::Direction;
use goodqueue_sim as sim;
use goodqueue_sim::traffic::PackMimeSettings;
use goodqueue_tc::diagnostic::Diagnostic;

use super::kind::{FlowContext, Kind};
use crate::scenario::keys::keys;
use crate::scenario::plain::{Flag, Number, number, whole};
use crate::scenario::tcp::Tcp;

keys! {
    /// Over TCP: the web connections of many users, PackMime-HTTP model. `direction` is that of the
    /// answers: "down" has the users behind the line, "up" has the servers behind the line.
    pub struct PackMime(table, around: &FlowContext<'_>) {
        /// Mean number of new connections per second. Required.
        connections: f64 = 20, CONNECTIONS => or({
            let message = Diagnostic::new("a flow of kind packmime needs a rate of connections");
            return Err(table.error("connections", message.allowed(CONNECTIONS.allowed())));
        });
        /// Allow several requests on a connection (HTTP/1.1).
        persistent: bool = true, Flag;
        /// Largest number of open connections; further users get no answer.
        // 5 kB each: a load far above the link's capacity stays at 50 MB.
        max_open: u32 = 10000, whole(1..=100_000);
    }
    with {
        /// How the ends of the connections behave.
        tcp: Tcp;
    }
    then { let tcp = around.read_tcp(table)?; }
}

impl Kind for PackMime {
    const NAME: &'static str = "packmime";
    const IS_OVER_TCP: bool = true;

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let (config, congestion_control) = self.tcp.to_sim()?;
        Ok(sim::Traffic::PackMime(PackMimeSettings {
            direction,
            rate: self.connections,
            persistent: self.persistent,
            max_open: usize::try_from(self.max_open).unwrap_or(usize::MAX),
            config,
            congestion_control,
        }))
    }

    fn tcp(&self) -> Option<&Tcp> {
        Some(&self.tcp)
    }
}

/// The parameters of the model are functions of the rate, fitted from 1 to some hundred connections
/// per second (Cao et al. 2004). At higher rates they approach a Poisson process.
const CONNECTIONS: Number = number("{} connections per second are not possible", 0.01..=100_000.0)
    .counting("connections per second, ");
