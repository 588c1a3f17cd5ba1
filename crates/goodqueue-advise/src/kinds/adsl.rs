//! ADSL, ADSL2 and ADSL2+: IP over PPPoE over ATM.

use goodqueue::{Duration, Rate};

use crate::bottleneck::Bottleneck;
use crate::encapsulation::{Encapsulation, Framing};
use crate::kind::{Buffer, LinkKind};
use crate::port::Port;
use crate::shares::Shares;
use crate::variation::Variation;

/// The rates are those at which the modem synchronised, cells included.
pub(super) const ADSL: LinkKind = LinkKind {
    name: "adsl",
    title: "ADSL (ATM cells)",
    source: "Overhead: PPPoE over LLC/SNAP, 40 bytes and ATM cells (RFC 2516, RFC 2684); 44 bytes cover the VC-mux and \
             LLC variants. Buffers: 128 kB upstream and downstream, a common size of DSL modems (Kreibich et al., \
             Netalyzr, IMC 2010). The line is 1 % slower than the rate given: assumed. RTT: assumed.",
    rtt: Duration::from_millis(30),
    mtu: 1492,
    encapsulation: Encapsulation { overhead: 40, mpu: 0, framing: Framing::Atm },
    accounted: Encapsulation { overhead: 44, mpu: 0, framing: Framing::Atm },
    buffer: Buffer::TailDrop,
    buffers: |_| [128 * 1024, 128 * 1024],
    real: 990,
    variation: Variation::Steady,
    shares: Shares::STEADY,
    bottleneck: Bottleneck::Modem,
    port: Port::TO_MODEM,
    instead: None,
};

/// Highest rate of ADSL2+ towards the home (ITU-T G.992.5).
pub(super) const FASTEST: Rate = Rate::from_bps(24_000_000);
