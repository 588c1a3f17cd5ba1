//! The table of `cake`'s parameters.

use crate::cobalt::VARIANTS;
use crate::config::{Kind, Parameter, Unit};
use crate::memory::TRUESIZE;

pub(super) const KIND: Kind = Kind {
    name: "cake",
    summary: "Shaper, DSCP tins, flow and host isolation and COBALT in one",
    reference: "tc-cake(8); Høiland-Jørgensen et al. 2018",
    children: crate::config::Children::None,
    variants: VARIANTS,
    parameters: &[
        BANDWIDTH,
        UNLIMITED,
        BESTEFFORT,
        PRECEDENCE,
        DIFFSERV8,
        DIFFSERV4,
        DIFFSERV3,
        FLOWBLIND,
        SRCHOST,
        DSTHOST,
        HOSTS,
        FLOWS,
        DUAL_SRCHOST,
        DUAL_DSTHOST,
        TRIPLE_ISOLATE,
        RTT,
        OVERHEAD,
        RAW,
        MPU,
        ATM,
        PTM,
        ACK_FILTER,
        ACK_FILTER_AGGRESSIVE,
        INGRESS,
        MEMLIMIT,
        TRUESIZE,
        AUTORATE_INGRESS,
        FWMARK,
        WASH,
        NAT,
        SPLIT_GSO,
    ],
};

/// A flag with the word that switches it off, if tc has one.
const fn flag(name: &'static str, off: Option<&'static str>, is_on: bool, doc: &'static str) -> Parameter {
    let default = match (is_on, off) {
        (true, Some(_)) => name,
        (true, None) => "on",
        (false, Some(word)) => word,
        (false, None) => "off",
    };
    Parameter { name, unit: Unit::Flag { off }, default, source: "tc-cake(8)", range: "", doc }
}

pub(super) const BANDWIDTH: Parameter = Parameter {
    name: "bandwidth",
    unit: Unit::Rate,
    default: "unlimited",
    source: "tc-cake(8)",
    range: "8bit or more",
    doc: "rate of the shaper",
};

pub(super) const UNLIMITED: Parameter = flag("unlimited", None, true, "no shaper");

pub(super) const BESTEFFORT: Parameter = flag("besteffort", None, false, "one tin for all packets");

pub(super) const PRECEDENCE: Parameter =
    flag("precedence", None, false, "eight tins by the three IP precedence bits (RFC 791)");

pub(super) const DIFFSERV8: Parameter = flag("diffserv8", None, false, "eight tins by DSCP");

pub(super) const DIFFSERV3: Parameter =
    flag("diffserv3", None, true, "three tins by DSCP: bulk, best effort, voice");

pub(super) const FLOWBLIND: Parameter = flag("flowblind", None, false, "one queue for all flows");

pub(super) const SRCHOST: Parameter = flag("srchost", None, false, "one queue per source host");

pub(super) const DSTHOST: Parameter = flag("dsthost", None, false, "one queue per destination host");

pub(super) const HOSTS: Parameter = flag("hosts", None, false, "one queue per pair of hosts");

pub(super) const FLOWS: Parameter = flag("flows", None, false, "one queue per flow");

pub(super) const RTT: Parameter = Parameter {
    name: "rtt",
    unit: Unit::Time,
    default: "100ms",
    source: "tc-cake(8)",
    range: "1us to 4294s",
    doc: "expected round-trip time; COBALT's interval, and twenty times its target",
};

pub(super) const OVERHEAD: Parameter = Parameter {
    name: "overhead",
    unit: Unit::Signed,
    default: "raw",
    source: "tc-cake(8)",
    range: "-64 to 256",
    doc: "bytes that the link adds to each IP packet",
};

pub(super) const RAW: Parameter =
    flag("raw", None, true, "charge each packet its length with the Ethernet header, nothing more");

pub(super) const MPU: Parameter = Parameter {
    name: "mpu",
    unit: Unit::Integer,
    default: "0",
    source: "tc-cake(8)",
    range: "0 to 256",
    doc: "smallest length of a packet on the link, in bytes",
};

pub(super) const ATM: Parameter =
    flag("atm", Some("noatm"), false, "the link sends cells of 53 bytes that carry 48");

pub(super) const PTM: Parameter = flag("ptm", None, false, "the link adds one byte to every 64 (VDSL2)");

pub(super) const ACK_FILTER: Parameter =
    flag("ack-filter", Some("no-ack-filter"), false, "drop an ACK when two later ones make it superfluous");

pub(super) const INGRESS: Parameter = flag(
    "ingress",
    Some("egress"),
    false,
    "charge dropped packets to the shaper, for a shaper behind the bottleneck",
);

pub(super) const MEMLIMIT: Parameter = Parameter {
    name: "memlimit",
    unit: Unit::Bytes,
    default: "4 x bandwidth x rtt, at least 4mb, at most 10240 x MTU",
    source: "Linux sch_cake",
    range: "1 to 4294967295",
    doc: "bytes of memory that all queues together hold",
};

pub(super) const AUTORATE_INGRESS: Parameter =
    flag("autorate-ingress", None, false, "set the shaper to 15/16 of the measured peak arrival rate");

pub(super) const FWMARK: Parameter = Parameter {
    name: "fwmark",
    unit: Unit::Integer,
    default: "0",
    source: "tc-cake(8)",
    range: "0 to 4294967295",
    doc: "mask of the firewall mark whose bits choose the tin, counted from 1; if they are 0, the DSCP does",
};

pub(super) const NAT: Parameter = flag(
    "nat",
    Some("nonat"),
    false,
    "look up addresses behind NAT; accepted without effect, since nothing is translated here",
);

pub(super) const DIFFSERV4: Parameter =
    flag("diffserv4", None, false, "four tins by DSCP: bulk, best effort, video, voice");

pub(super) const DUAL_SRCHOST: Parameter =
    flag("dual-srchost", None, false, "fairness between source hosts, then between the flows of each");

pub(super) const DUAL_DSTHOST: Parameter =
    flag("dual-dsthost", None, false, "fairness between destination hosts, then between the flows of each");

pub(super) const TRIPLE_ISOLATE: Parameter = flag(
    "triple-isolate",
    None,
    true,
    "fairness between source hosts and between destination hosts, then between flows",
);

pub(super) const ACK_FILTER_AGGRESSIVE: Parameter =
    flag("ack-filter-aggressive", None, false, "drop an ACK when one later one makes it superfluous");

pub(super) const WASH: Parameter =
    flag("wash", Some("nowash"), false, "clear the DSCP of each packet after its tin is chosen");

pub(super) const SPLIT_GSO: Parameter = flag(
    "split-gso",
    Some("no-split-gso"),
    true,
    "split aggregated packets; accepted without effect, since there are none here",
);
