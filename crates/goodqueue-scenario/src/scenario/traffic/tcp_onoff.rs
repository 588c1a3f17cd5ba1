//! `kind = "tcp_onoff"`: a TCP sender that has data without end for some time, and none for some
//! time.

use goodqueue::{Direction, Duration};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::TcpOnOffSettings;
use goodqueue_tc::diagnostic::Diagnostic;

use super::kind::{FlowContext, Kind};
use crate::scenario::drawn::{Drawn, Random};
use crate::scenario::keys::keys;
use crate::scenario::plain::Flag;
use crate::scenario::tcp::Tcp;

keys! {
    /// Over TCP: times with unlimited data alternate with times without.
    pub struct TcpOnOff(table, around: &FlowContext<'_>) {
        /// Time with data; may be random.
        on: Drawn<Duration> = { exponential = "5s" }, Random
            => required("a flow of kind tcp_onoff needs two times");
        /// Time without data; may be random.
        off: Drawn<Duration> = { exponential = "5s" }, Random
            => required("a flow of kind tcp_onoff needs two times");
        /// Use one connection for all times instead of one for each.
        persistent: bool = true, Flag;
    }
    with {
        /// How the ends behave.
        tcp: Tcp;
    }
    then {
        if on.is_always_zero() {
            let message = Diagnostic::new("a time with data of 0s is not possible");
            return Err(table.error("on", message.allowed("above 0s")));
        }
        let tcp = around.read_tcp(table)?;
    }
}

impl Kind for TcpOnOff {
    const NAME: &'static str = "tcp_onoff";
    const IS_OVER_TCP: bool = true;

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let (config, congestion_control) = self.tcp.to_sim()?;
        Ok(sim::Traffic::TcpOnOff(TcpOnOffSettings {
            direction,
            on: self.on.to_sim(),
            off: self.off.to_sim(),
            persistent: self.persistent,
            config,
            congestion_control,
        }))
    }

    fn tcp(&self) -> Option<&Tcp> {
        Some(&self.tcp)
    }
}
