//! Rules of the kernel's packet filter that end with this process.
//!
//! The kernel removes a table with an owner (`NFT_TABLE_F_OWNER`, Linux 5.12) when the socket that
//! created it is closed, even after `kill -9`. No other process can change it. The four kinds of
//! messages (`linux/netfilter/nf_tables.h`) are built here, so neither the `nft` program nor a
//! library is needed.

use std::net::IpAddr;

use netlink_sys::protocols::NETLINK_NETFILTER;
use netlink_sys::{Socket, SocketAddr};

use crate::error::LiveError;
use crate::netlink::{attribute, error_of, raw_messages};

/// A table that exists as long as this value.
#[derive(Debug)]
pub(crate) struct Rules {
    _owner: Socket,
}

/// The packets that a table sees, by their `NFPROTO_*` number (`linux/netfilter.h`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    /// IPv4 packets.
    Ipv4 = 2,
    /// All frames that arrive at one device.
    Netdev = 5,
    /// IPv6 packets.
    Ipv6 = 10,
}

/// One rule: conditions in order, then an action.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rule(Vec<u8>);

/// A chain of rules and its place in the packet's path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) hook: u32,
    pub(crate) priority: i32,
    /// Name of the device, for [`Family::Netdev`].
    pub(crate) device: Option<&'a str>,
    pub(crate) rules: &'a [Rule],
}

impl Rules {
    /// Creates a table with these chains in the network namespace of this thread: completely, or
    /// not at all.
    ///
    /// # Errors
    /// The kernel has no nftables or is too old, or the table exists.
    pub(crate) fn create(family: Family, table: &str, chains: &[Chain<'_>]) -> Result<Self, LiveError> {
        let failed = |error: std::io::Error| {
            let help = match error.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => "this needs CAP_NET_ADMIN: run it with sudo",
                Some(libc::EEXIST) => "another run uses the same table: end it first",
                _ => "this needs Linux 5.12 or later with nftables (`modprobe nf_tables nft_masq`)",
            };
            LiveError::system("the kernel's packet filter (nftables) cannot be used", error).help(help)
        };
        let mut socket = Socket::new(NETLINK_NETFILTER).map_err(failed)?;
        socket.bind_auto().map_err(failed)?;
        socket.connect(&SocketAddr::new(0, 0)).map_err(failed)?;
        let mut batch = Batch { family: family as u8, bytes: Vec::new(), messages: 0 };
        batch.add(BATCH_BEGIN, 0, &[]);
        batch.add(
            NEW_TABLE,
            CREATE | EXCLUSIVE,
            &[text(TABLE_NAME, table), attribute(TABLE_FLAGS, &TABLE_OWNER.to_be_bytes())].concat(),
        );
        for chain in chains {
            let mut hook = [
                attribute(HOOK_NUMBER, &chain.hook.to_be_bytes()),
                attribute(HOOK_PRIORITY, &chain.priority.to_be_bytes()),
            ]
            .concat();
            if let Some(device) = chain.device {
                hook.extend(text(HOOK_DEVICE, device));
            }
            let of_chain = [
                text(CHAIN_TABLE, table),
                text(CHAIN_NAME, chain.name),
                nested(CHAIN_HOOK, &hook),
                text(CHAIN_TYPE, chain.kind),
            ];
            batch.add(NEW_CHAIN, CREATE | EXCLUSIVE, &of_chain.concat());
            for rule in chain.rules {
                let of_rule = [
                    text(RULE_TABLE, table),
                    text(RULE_CHAIN, chain.name),
                    nested(RULE_EXPRESSIONS, &rule.0),
                ];
                batch.add(NEW_RULE, CREATE | APPEND, &of_rule.concat());
            }
        }
        batch.add(BATCH_END, 0, &[]);
        socket.send(&batch.bytes, 0).map_err(failed)?;
        // The kernel acknowledges each message of the batch. Its first refusal undoes them all.
        let mut waited_for = batch.messages;
        while waited_for > 0 {
            let (answers, _) = socket.recv_from_full().map_err(failed)?;
            for (kind, _, message) in raw_messages(&answers) {
                if i32::from(kind) == libc::NLMSG_ERROR {
                    match error_of(message) {
                        error if error.raw_os_error() == Some(0) => waited_for -= 1,
                        error => return Err(failed(error)),
                    }
                }
            }
        }
        Ok(Self { _owner: socket })
    }
}

impl Rule {
    /// Matches packets that arrived at this interface.
    pub(crate) fn from(self, index: u32) -> Self {
        self.compare_interface(META_IIF, index)
    }

    /// Matches packets that leave at this interface.
    pub(crate) fn to(self, index: u32) -> Self {
        self.compare_interface(META_OIF, index)
    }

    fn compare_interface(self, key: u32, index: u32) -> Self {
        let load =
            [attribute(META_TO, &REGISTER.to_be_bytes()), attribute(META_KEY, &key.to_be_bytes())].concat();
        // Numbers of attributes are big-endian. Registers hold the kernel's own numbers, such as
        // indices of interfaces and connection states, in the machine's byte order.
        self.expression("meta", &load).compare(&index.to_ne_bytes(), EQUAL)
    }

    /// Matches packets from the network of this address: /24 with IPv4, /64 with IPv6.
    pub(crate) fn source_in(self, network: IpAddr) -> Self {
        // A prefix of whole bytes is compared without a mask.
        // Networks of --nat are a /24 and a /64.
        let (at, prefix) = match network {
            IpAddr::V4(network) => (SOURCE_ADDRESS, network.octets()[..3].to_vec()),
            IpAddr::V6(network) => (SOURCE_ADDRESS_V6, network.octets()[..8].to_vec()),
        };
        let length = u32::try_from(prefix.len()).unwrap_or_default();
        let load = [
            attribute(PAYLOAD_TO, &REGISTER.to_be_bytes()),
            attribute(PAYLOAD_BASE, &NETWORK_HEADER.to_be_bytes()),
            attribute(PAYLOAD_OFFSET, &at.to_be_bytes()),
            attribute(PAYLOAD_LENGTH, &length.to_be_bytes()),
        ];
        self.expression("payload", &load.concat()).compare(&prefix, EQUAL)
    }

    /// Matches packets of existing connections: answers and related errors.
    pub(crate) fn answers(self) -> Self {
        let load =
            [attribute(CT_TO, &REGISTER.to_be_bytes()), attribute(CT_KEY, &CT_STATE.to_be_bytes())].concat();
        self.expression("ct", &load)
            .masked(&(CT_ESTABLISHED | CT_RELATED).to_ne_bytes())
            .compare(&0_u32.to_ne_bytes(), NOT_EQUAL)
    }

    fn masked(self, mask: &[u8; 4]) -> Self {
        let and = [
            attribute(BITWISE_FROM, &REGISTER.to_be_bytes()),
            attribute(BITWISE_TO, &REGISTER.to_be_bytes()),
            attribute(BITWISE_LENGTH, &4_u32.to_be_bytes()),
            nested(BITWISE_MASK, &attribute(DATA_VALUE, mask)),
            nested(BITWISE_XOR, &attribute(DATA_VALUE, &[0; 4])),
        ];
        self.expression("bitwise", &and.concat())
    }

    fn compare(self, value: &[u8], how: u32) -> Self {
        let with = [
            attribute(COMPARE_FROM, &REGISTER.to_be_bytes()),
            attribute(COMPARE_HOW, &how.to_be_bytes()),
            nested(COMPARE_WITH, &attribute(DATA_VALUE, value)),
        ];
        self.expression("cmp", &with.concat())
    }

    /// Accepts the packets.
    pub(crate) fn accept(self) -> Self {
        self.verdict(ACCEPT)
    }

    /// Drops the packets.
    pub(crate) fn drop(self) -> Self {
        self.verdict(DROP)
    }

    fn verdict(self, code: u32) -> Self {
        let verdict = nested(DATA_VERDICT, &attribute(VERDICT_CODE, &code.to_be_bytes()));
        let to = attribute(IMMEDIATE_TO, &VERDICT_REGISTER.to_be_bytes());
        self.expression("immediate", &[to, nested(IMMEDIATE_DATA, &verdict)].concat())
    }

    /// Replaces the source address by that of the outgoing interface.
    pub(crate) fn masquerade(self) -> Self {
        self.expression("masq", &[])
    }

    fn expression(mut self, name: &str, data: &[u8]) -> Self {
        self.0.extend(nested(
            LIST_ELEMENT,
            &[text(EXPRESSION_NAME, name), nested(EXPRESSION_DATA, data)].concat(),
        ));
        self
    }
}

struct Batch {
    family: u8,
    bytes: Vec<u8>,
    /// Messages that the kernel acknowledges.
    messages: u32,
}

impl Batch {
    fn add(&mut self, kind: u16, flags: u16, attributes: &[u8]) {
        let is_edge = kind == BATCH_BEGIN || kind == BATCH_END;
        let (kind, flags, family) = if is_edge {
            (kind, REQUEST, 0)
        } else {
            self.messages += 1;
            (SUBSYSTEM << 8 | kind, REQUEST | ACKNOWLEDGE | flags, self.family)
        };
        // The edges of a batch name the subsystem here (`res_id`), the messages within it in their
        // type.
        let resource = if is_edge { SUBSYSTEM } else { 0 };
        let length = u32::try_from(HEADER + 4 + attributes.len()).unwrap_or(u32::MAX);
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(flags.to_ne_bytes());
        self.bytes.extend(self.messages.to_ne_bytes());
        self.bytes.extend([0; 4]);
        self.bytes.extend([family, 0]);
        self.bytes.extend(resource.to_be_bytes());
        // The attributes are padded already.
        self.bytes.extend(attributes);
    }
}

fn nested(kind: u16, attributes: &[u8]) -> Vec<u8> {
    attribute(kind | NESTED, attributes)
}

fn text(kind: u16, value: &str) -> Vec<u8> {
    // The kernel's strings end with a zero byte.
    attribute(kind, &[value.as_bytes(), &[0]].concat())
}

/// `NF_INET_FORWARD`.
pub(crate) const HOOK_FORWARD: u32 = 2;
/// `NF_INET_POST_ROUTING`.
pub(crate) const HOOK_POSTROUTING: u32 = 4;
/// `NF_NETDEV_INGRESS`.
pub(crate) const HOOK_INGRESS: u32 = 0;
/// `NF_IP_PRI_NAT_SRC`.
pub(crate) const PRIORITY_SOURCE_NAT: i32 = 100;

// `linux/netlink.h`.
const HEADER: usize = 16;
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const EXCLUSIVE: u16 = 0x200;
const CREATE: u16 = 0x400;
const APPEND: u16 = 0x800;
const NESTED: u16 = 0x8000;

// `linux/netfilter/nfnetlink.h`, `linux/netfilter/nf_tables.h`.
const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 16;
const BATCH_END: u16 = 17;
const NEW_TABLE: u16 = 0;
const NEW_CHAIN: u16 = 3;
const NEW_RULE: u16 = 6;
const TABLE_OWNER: u32 = 2;
/// The register of verdicts (`NFT_REG_VERDICT`).
const VERDICT_REGISTER: u32 = 0;
/// The first of the 16-byte registers.
const REGISTER: u32 = 1;
const EQUAL: u32 = 0;
const NOT_EQUAL: u32 = 1;
const META_IIF: u32 = 4;
const META_OIF: u32 = 5;
const NETWORK_HEADER: u32 = 1;
/// RFC 791 §3.1.
const SOURCE_ADDRESS: u32 = 12;
/// RFC 8200 §3.
const SOURCE_ADDRESS_V6: u32 = 8;
const CT_STATE: u32 = 0;

// Attributes of each object, and of each expression (`linux/netfilter/nf_tables.h`, `NFTA_*`).
const LIST_ELEMENT: u16 = 1;
const TABLE_NAME: u16 = 1;
const TABLE_FLAGS: u16 = 2;
const HOOK_NUMBER: u16 = 1;
const HOOK_PRIORITY: u16 = 2;
const HOOK_DEVICE: u16 = 3;
const CHAIN_TABLE: u16 = 1;
const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const CHAIN_TYPE: u16 = 7;
const RULE_TABLE: u16 = 1;
const RULE_CHAIN: u16 = 2;
const RULE_EXPRESSIONS: u16 = 4;
const EXPRESSION_NAME: u16 = 1;
const EXPRESSION_DATA: u16 = 2;
const DATA_VALUE: u16 = 1;
const DATA_VERDICT: u16 = 2;
const VERDICT_CODE: u16 = 1;
const IMMEDIATE_TO: u16 = 1;
const IMMEDIATE_DATA: u16 = 2;
const META_TO: u16 = 1;
const META_KEY: u16 = 2;
const CT_TO: u16 = 1;
const CT_KEY: u16 = 2;
const PAYLOAD_TO: u16 = 1;
const PAYLOAD_BASE: u16 = 2;
const PAYLOAD_OFFSET: u16 = 3;
const PAYLOAD_LENGTH: u16 = 4;
const BITWISE_FROM: u16 = 1;
const BITWISE_TO: u16 = 2;
const BITWISE_LENGTH: u16 = 3;
const BITWISE_MASK: u16 = 4;
const BITWISE_XOR: u16 = 5;
const COMPARE_FROM: u16 = 1;
const COMPARE_HOW: u16 = 2;
const COMPARE_WITH: u16 = 3;

// `NF_CT_STATE_BIT`.
const CT_ESTABLISHED: u32 = 2;
const CT_RELATED: u32 = 4;
const DROP: u32 = 0;
const ACCEPT: u32 = 1;
