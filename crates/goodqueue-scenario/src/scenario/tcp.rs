//! `[tcp]`, and the same keys of flows: how the ends of a TCP connection behave.

use goodqueue::{Direction, Duration};
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tcp::congestion::parameter::{Parameter, Value as ParameterValue};
use goodqueue_tcp::congestion::{About, Needs};
use goodqueue_tcp::registry::KnownController;
use goodqueue_tcp::{AnyCongestionControl, DelayedAck, HyStart, Mechanism, Profile};
use serde_json::{Value, json};

use super::discipline::{Discipline, line_schema, read_discipline};
use super::document::{Document, Node, Raw};
use super::ecn_mode::{ECN, EcnMode};
use super::ends::LinkRate;
use super::form::{Context, Form, Maybe, Own, Unless, object};
use super::hops::as_seen_by_qdisc;
use super::keys::{Table, keys, merged, written};
use super::link::BottleneckLink;
use super::names::Choices;
use super::plain::{Flag, NUMBER, SIZE, TEXT, TIME, Time, Words, time, whole};
use super::quantity::Quantity;
use super::reader::Reader;
use crate::extensions::Extensions;

keys! {
    /// The ends of a TCP connection.
    pub struct Tcp(table, around: &TcpDefaults<'_>) {
        /// Congestion control.
        cc: String = "cubic", CC => from(cc.to_owned());
        /// Initial window in segments (RFC 6928).
        iw: u32 = 10, whole(1..=10_000) => or(usual.iw);
        /// Payload of a segment in bytes. Default: MTU - 40.
        mss: u32 = 1460, whole(1..=65_535) => or(usual.mss);
        /// ACK every second segment, or after this time; "off"; or { every = 2, timeout = "40ms" }.
        delayed_ack: Option<DelayedAck> = "40ms", DELAYED_ACK => or(usual.delayed_ack);
        /// Negotiate ECN: true is that of RFC 3168, "accecn" is Accurate ECN (RFC 9768).
        ecn: EcnMode = false, ECN => from(read_ecn(table, usual.ecn, profile, found)?);
        /// Packets with the option of AccECN, which takes 12 bytes of a segment: "all" as in Linux
        /// 7.3, or "acks", those without data. Default: that of the profile.
        ecn_option: Option<bool> = "acks", Maybe(ECN_OPTION) => or(usual.ecn_option);
        /// Selective acknowledgements (RFC 2018, RFC 6675).
        sack: bool = true, Flag => or(usual.sack);
        /// Smallest retransmission timeout; RFC 6298 has 1s, systems in use have 200ms.
        min_rto: Duration = "200ms", MIN_RTO => or(usual.min_rto);
        /// TCP implementation: all behaviour, and the defaults of the other keys except `cc`.
        profile: String = "linux", PROFILE => from(profile.to_owned());
        /// Mark ECN-capable packets as L4S (RFC 9331): ECT(1) instead of ECT(0). Needs a scalable
        /// congestion control: dctcp, or prague, which always does.
        l4s: bool = false, Flag => from(read_l4s(table, usual.l4s, &cc, found)?);
        /// The receiver's window. Default: that of the profile. Only the profiles of Linux have a
        /// limit (20 MB; 3 MB in `linux61`).
        rwnd: Option<u32> = "64kb", Maybe(SIZE) => from(read_rwnd(table, mss)?.or(usual.rwnd));
        /// What ends slow start before a loss: "own" is the method of `cc`, "rfc9406" is HyStart++
        /// (cubic, newreno, reno), "off" is nothing. Default: that of the profile.
        hystart: Option<HyStart> = "own", Maybe(HYSTART) => from(read_hystart(table, usual.hystart, &cc, found)?);
        /// Discipline of the hosts' own queues, in front of `access_rate`: `fq` paces segments, and
        /// the profiles of Linux keep few segments in any. Flows with the same `server` or `client`
        /// share a queue. Default: hosts queue without limit.
        host_qdisc: Option<Discipline> = "fq", Maybe(HOST_QDISC) => from(read_host_qdisc(table, around)?);
        /// State from earlier connections to the same host (profile `linux32` only). Default: none.
        remembers: Remembered = { rtt = "5s", rttvar = "2s", ssthresh = 200 }, REMEMBERED
            => from(read_remembered(table, usual.remembers, &profile, found)?);
    }
    with {
        /// Parameters of the congestion control that differ from its defaults.
        tuning: Option<Tuning>;
        /// What the names of its profile and its congestion control stand for.
        found: TcpChoice;
    }
    first {
        let profile = table.choice("profile", &around.tcp.profile, &around.names.profiles)?;
        let usual = &of_profile(table.document(), around.tcp, profile);
        let cc = table.choice("cc", &usual.cc, &around.names.cc)?;
        let found = TcpChoice::new(table.document(), profile, cc);
    }
    then {
        check_mss(table, mss, around.link)?;
        check_sack(table, sack, &profile, found)?;
        let tuning = read_tuning(table, usual.tuning.as_ref(), [&cc, &profile], found)?;
    }
}

/// The tables inside `[tcp]`.
pub(super) const TABLES: [&Table; 2] = [&Delay::TABLE, &Remembered::TABLE];

/// Values of absent keys, and what they follow from.
pub(super) struct TcpDefaults<'a> {
    pub(super) tcp: &'a Tcp,
    pub(super) link: &'a BottleneckLink,
    pub(super) names: &'a Choices<'a>,
}

const CC: Context<String> = Context {
    write: |name| json!(name),
    schema: || json!({ "enum": Extensions::new().controllers().collect::<Vec<_>>() }),
    quantity: None,
};
const PROFILE: Context<String> = Context {
    schema: || json!({ "enum": Extensions::new().profiles().map(|profile| profile.name).collect::<Vec<_>>() }),
    ..CC
};
const MIN_RTO: Time =
    time("a minimum timeout of {} is not possible", Duration::from_nanos(1)..=Duration::from_secs(60));
const HYSTART: Words<HyStart> = Words(&[
    (HyStart::Own.name(), HyStart::Own),
    (HyStart::Off.name(), HyStart::Off),
    (HyStart::Rfc9406.name(), HyStart::Rfc9406),
]);

/// Whether data carries the option, too.
const ECN_OPTION: Words<bool> = Words(&[("all", true), ("acks", false)]);

/// A line in tc's grammar.
const HOST_QDISC: Context<Discipline> =
    Context { write: |qdisc| json!(tc::to_tc(&qdisc.config)), schema: line_schema, quantity: None };

/// Reads the discipline of hosts. It derives its defaults from tc's default rate, since flows have
/// hosts of different rates.
fn read_host_qdisc(table: &Reader<'_>, around: &TcpDefaults<'_>) -> Result<Option<Discipline>, Diagnostic> {
    let Some(node) = table.node("host_qdisc") else { return Ok(around.tcp.host_qdisc.clone()) };
    let seen = as_seen_by_qdisc(around.link, Direction::Down, &LinkRate::Unlimited);
    read_discipline(table.document(), node, &TEXT.read(table, "host_qdisc", node)?, &seen).map(Some)
}

keys! {
    /// How acknowledgements are delayed.
    struct Delay(table, _around: ()) {
        /// Segments of an acknowledgement.
        every: u32 = 2, whole(1..=1000);
        /// Longest time without an acknowledgement.
        timeout: Duration = "40ms", TIME;
    }
    then { check_delay(table, "timeout", timeout)?; }
}

/// A time, a table, or "off".
const DELAYED_ACK: Own<Option<DelayedAck>> = Own {
    read: read_delayed_ack,
    write: |delayed_ack| match delayed_ack {
        Some(DelayedAck { every, timeout }) => {
            written(|object| Delay { every: *every, timeout: *timeout }.write(object))
        }
        None => json!("off"),
    },
    schema: || json!({ "anyOf": [{ "type": "string" }, Delay::TABLE.schema()] }),
    quantity: Some(Quantity::Time),
};

/// A profile and a congestion control, found by their names.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct TcpChoice {
    profile: Option<&'static Profile>,
    /// The congestion control of this name.
    plain: Option<KnownController>,
    /// The congestion control in the variant of the profile.
    variant: Option<KnownController>,
}

impl TcpChoice {
    fn new(document: &Document, profile: &str, cc: &str) -> Self {
        let known = document.extensions().tcp();
        let profile = known.profile(profile);
        let variant = profile.and_then(|profile| known.known(profile.variant(cc)));
        Self { profile, plain: known.known(cc), variant }
    }

    /// Returns the description of the congestion control in the variant of the profile.
    fn about(&self) -> Option<&'static About> {
        self.variant.map(|known| known.about())
    }

    fn needs(&self) -> Needs {
        self.plain.map_or(Needs::Nothing, |known| known.about().needs)
    }

    /// Returns true if the congestion control reduces by the share of marked bytes.
    fn is_scalable(&self) -> bool {
        is_scalable(self.needs())
    }

    /// Returns true if the profile has Accurate ECN.
    fn has_accecn(&self) -> bool {
        self.profile.is_some_and(|profile| profile.settings.stack.has(Mechanism::AccurateEcn))
    }
}

const fn is_scalable(needs: Needs) -> bool {
    matches!(needs, Needs::AccurateEcn | Needs::L4s)
}

/// Parameters of one congestion control.
#[derive(Clone, PartialEq, Debug)]
pub struct Tuning {
    /// Name of the congestion control that has them.
    pub controller: &'static str,
    /// All of its parameters, in the order of its table.
    pub values: Vec<(&'static str, ParameterValue)>,
}

keys! {
    /// State that a Linux connection inherits from earlier connections to the same host.
    #[derive(Copy, Eq, Default)]
    pub struct Remembered(_table, _around: ()) {
        /// Their round-trip time.
        rtt: Option<Duration> = "5s", Maybe(REMEMBERED_TIME) => none;
        /// Its mean deviation. Default: as large.
        rttvar: Option<Duration> = "2s", Maybe(REMEMBERED_TIME) => none;
        /// Their slow-start threshold in segments.
        ssthresh: Option<u32> = 200, Maybe(whole(2..=1_000_000)) => none;
    }
}

const REMEMBERED_TIME: Time =
    time("a round-trip time of {} is not remembered", Duration::ZERO..=Duration::from_secs(60));

/// A table that is not written if nothing is remembered.
const REMEMBERED: Unless<Remembered, Own<Remembered>> = Unless(
    Remembered { rtt: None, rttvar: None, ssthresh: None },
    Own {
        read: |table, key, node| Remembered::read(&Remembered::TABLE.inside(table, key, node)?, ()),
        write: |remembered| written(|object| remembered.write(object)),
        schema: || Remembered::TABLE.schema(),
        quantity: None,
    },
);

impl Tcp {
    /// Adds its keys to an object; those of its congestion control only if that has them.
    pub(super) fn add_to(&self, table: &mut Value) {
        self.write(table);
        if let Value::Object(keys) = table
            && !self.found.is_scalable()
        {
            // Unlike `remove`, this keeps the order of the other keys.
            keys.shift_remove("l4s");
        }
        if let Some(Tuning { controller, values }) = &self.tuning {
            for (name, value) in values {
                table[*controller][*name] = match value {
                    ParameterValue::Time(span) => json!(span.to_string()),
                    ParameterValue::Number(number) => json!(number),
                    ParameterValue::Count(count) => json!(count),
                };
            }
        }
    }

    /// What the simulator is told: the settings of both ends, and the congestion control.
    pub(super) fn to_sim(&self) -> Result<(goodqueue_tcp::Config, AnyCongestionControl), Diagnostic> {
        let profile = (self.found.profile)
            .ok_or_else(|| Diagnostic::new(format!("there is no TCP profile `{}`", self.profile)))?;
        let base = profile.settings;
        let config = goodqueue_tcp::Config {
            mss: self.mss,
            iw: self.iw,
            // `None` is `off` here. The default of the profile was filled in before.
            delayed_ack: self.delayed_ack.unwrap_or(DelayedAck::OFF),
            ecn: self.ecn != EcnMode::Off,
            accecn: self.ecn == EcnMode::Accurate,
            counters_on_data: self.ecn_option.unwrap_or(base.counters_on_data),
            l4s: self.l4s,
            sack: self.sack,
            min_rto: self.min_rto,
            // A least time-out above the first or the greatest one lifts these with it.
            initial_rto: base.initial_rto.max(self.min_rto),
            max_rto: base.max_rto.max(self.min_rto),
            rwnd: self.rwnd.unwrap_or(base.rwnd),
            hystart: self.hystart.unwrap_or(base.hystart),
            remembered_rtt: self.remembers.rtt.unwrap_or_default(),
            remembered_rttvar: self.remembers.rttvar.or(self.remembers.rtt).unwrap_or_default(),
            ..base
        };
        let mut config = config.suited_to(self.found.needs());
        if let Some(segments) = self.remembers.ssthresh {
            config.initial_ssthresh = u64::from(segments) * u64::from(config.payload());
        }
        config.check().map_err(|error| Diagnostic::new(error.to_string()))?;
        let mut controller = (self.found.variant)
            .map(|known| known.make())
            .ok_or_else(|| Diagnostic::new(format!("there is no congestion control `{}`", self.cc)))?;
        for (name, value) in self.tuning.iter().flat_map(|tuning| &tuning.values) {
            controller.set(name, *value).map_err(|error| Diagnostic::new(error.to_string()))?;
        }
        Ok((config, controller))
    }
}

pub(super) fn default_tcp(document: &Document, link: &BottleneckLink, names: &Choices<'_>) -> Tcp {
    let preferred = |wanted: &str, known: &[&str]| {
        let chosen = known.iter().find(|name| **name == wanted).or(known.first());
        chosen.map_or_else(String::new, |name| (*name).to_owned())
    };
    let plain = Tcp {
        cc: preferred("cubic", &names.cc),
        iw: 10,
        // Never below 28, because an MTU has at least 68 bytes.
        mss: link.mtu.saturating_sub(TCP_IP_HEADERS).max(1),
        delayed_ack: Some(DelayedAck { every: 2, timeout: Duration::from_millis(40) }),
        ecn: EcnMode::Off,
        ecn_option: None,
        l4s: false,
        sack: true,
        min_rto: Duration::from_millis(200),
        rwnd: None,
        hystart: None,
        host_qdisc: None,
        remembers: Remembered::default(),
        tuning: None,
        // No profile has this name, so `of_profile` replaces the values above by those of the first
        // profile.
        profile: String::new(),
        found: TcpChoice::default(),
    };
    of_profile(document, &plain, &preferred(DEFAULT_PROFILE, &names.profiles))
}

/// Most servers and phones run Linux, and this profile agrees best with recordings of the real
/// kernel.
const DEFAULT_PROFILE: &str = "linux";

/// The defaults under another profile than that of `default`. The 200 ms least timeout that systems
/// in use have is the scenario's default in the `rfc` profile too.
fn of_profile(document: &Document, default: &Tcp, profile: &str) -> Tcp {
    let mut tcp = default.clone();
    if let Some(known) = document.extensions().tcp().profile(profile)
        && profile != default.profile
    {
        // `mss` follows from the MTU. `ecn_option`, `rwnd` and `hystart` stay absent, which means
        // those of the profile.
        let goodqueue_tcp::Config { iw, delayed_ack, sack, min_rto, .. } = known.settings;
        tcp.iw = iw;
        // ns-2's FullTcp delays the ACK of what is less than a segment.
        let delays = delayed_ack.every > 1 || known.settings.carries_acks();
        tcp.delayed_ack = delays.then_some(delayed_ack);
        tcp.ecn = EcnMode::from_config(&known.settings);
        tcp.sack = sack;
        tcp.min_rto = if profile == "rfc" { Duration::from_millis(200) } else { min_rto };
        profile.clone_into(&mut tcp.profile);
    }
    tcp
}

fn check_mss(table: &Reader<'_>, mss: u32, link: &BottleneckLink) -> Result<(), Diagnostic> {
    let largest = link.mtu.saturating_sub(TCP_IP_HEADERS);
    if mss <= largest {
        return Ok(());
    }
    let message = Diagnostic::new(format!(
        "a segment of {mss} bytes and {TCP_IP_HEADERS} bytes of headers do not fit the MTU of {}",
        link.mtu
    ));
    Err(table.error("mss", message.allowed(format!("1 to {largest}"))))
}

/// The default profile needs SACK, so a scenario may name neither the profile nor the reason.
fn check_sack(table: &Reader<'_>, sack: bool, profile: &str, found: TcpChoice) -> Result<(), Diagnostic> {
    let works = |known: &Profile| goodqueue_tcp::Config { sack: false, ..known.settings }.check().is_ok();
    if sack || found.profile.is_none_or(works) {
        return Ok(());
    }
    let all = table.document().extensions().profiles();
    let others: Vec<&str> = all.filter(|known| works(known)).map(|known| known.name).collect();
    let message = Diagnostic::new(format!("the profile `{profile}` needs SACK"))
        .allowed(format!("with `profile` = {}", others.join(", ")));
    Err(table.error("sack", message.help("leave `sack` out, or choose one of these profiles")))
}

/// Accurate ECN is for the profiles that have it.
fn read_ecn(
    table: &Reader<'_>,
    default: EcnMode,
    profile: &str,
    found: TcpChoice,
) -> Result<EcnMode, Diagnostic> {
    match ECN.given(table, "ecn")? {
        Some(EcnMode::Accurate) if !found.has_accecn() => {
            let message = Diagnostic::new(format!("the profile `{profile}` has no Accurate ECN"));
            let all = table.document().extensions().profiles();
            let able: Vec<&str> = all
                .filter(|known| known.settings.stack.has(Mechanism::AccurateEcn))
                .map(|known| known.name)
                .collect();
            let message = message.allowed(format!("with `profile` = {}", able.join(", ")));
            Err(table.error("ecn", message.help("write `ecn = true` for ECN as RFC 3168 has it")))
        }
        given => Ok(given.unwrap_or(default)),
    }
}

/// A network gives L4S packets a short queue, and expects their senders to be scalable (RFC 9331
/// §4.3). Classic flows of the same scenario keep ECT(0).
fn read_l4s(table: &Reader<'_>, default: bool, cc: &str, found: TcpChoice) -> Result<bool, Diagnostic> {
    let given = Flag.given(table, "l4s")?;
    if given == Some(true) && !found.is_scalable() {
        let all = table.document().extensions().tcp().controllers();
        let scalable = all.filter(|about| is_scalable(about.needs));
        let names: Vec<&str> = scalable.map(|about| about.name).collect();
        let message = Diagnostic::new(format!("L4S needs a scalable congestion control, and `{cc}` is not"));
        return Err(table.error("l4s", message.allowed(format!("with cc = {}", names.join(", ")))));
    }
    if found.needs() == Needs::L4s {
        if given == Some(false) {
            let message = Diagnostic::new(format!("`{cc}` marks all its packets as L4S"));
            return Err(table.error("l4s", message.allowed("true, or leave `l4s` out")));
        }
        // Without Accurate ECN the feedback is too coarse for L4S (RFC 9331 §4.2).
        return Ok(found.has_accecn());
    }
    Ok(given.unwrap_or(default) && found.is_scalable())
}

fn read_rwnd(table: &Reader<'_>, mss: u32) -> Result<Option<u32>, Diagnostic> {
    let Some(bytes) = Form::<u64>::given(&SIZE, table, "rwnd")? else { return Ok(None) };
    match u32::try_from(bytes) {
        Ok(bytes) if (mss..=MAX_RWND).contains(&bytes) => Ok(Some(bytes)),
        _ => {
            let message = Diagnostic::new(format!("a receive window of {bytes} bytes is not possible"));
            let message = message.allowed(format!("{mss} (a segment) to {MAX_RWND}"));
            Err(table.error("rwnd", message.help("leave `rwnd` out for that of the profile")))
        }
    }
}

/// What the flows of another table have in common need not fit this one's congestion control: then
/// that has its own.
fn read_hystart(
    table: &Reader<'_>,
    default: Option<HyStart>,
    cc: &str,
    found: TcpChoice,
) -> Result<Option<HyStart>, Diagnostic> {
    let fits = found.about().is_some_and(|about| about.standard_slow_start);
    match HYSTART.given(table, "hystart")? {
        Some(HyStart::Rfc9406) if !fits => {
            let message = Diagnostic::new(format!("HyStart++ is not for the slow start of `{cc}`"));
            let message = message.allowed("with cubic, newreno and reno");
            Err(table
                .error("hystart", message.help("leave `hystart` out, or choose another `cc` or `profile`")))
        }
        None => Ok(default.filter(|_| fits)),
        chosen => Ok(chosen),
    }
}

/// Flows whose profile knows no such memory have none, whatever the others do.
fn read_remembered(
    table: &Reader<'_>,
    default: Remembered,
    profile: &str,
    found: TcpChoice,
) -> Result<Remembered, Diagnostic> {
    let remembers = found.profile.is_some_and(|known| known.settings.may_remember());
    let Some(node) = table.node("remembers") else {
        return Ok(if remembers { default } else { Remembered::default() });
    };
    if !remembers {
        let message =
            Diagnostic::new(format!("the profile `{profile}` remembers nothing of earlier connections"));
        let able = table.document().extensions().profiles().filter(|known| known.settings.may_remember());
        let names: Vec<String> = able.map(|known| format!("`{}`", known.name)).collect();
        let message = message.allowed(format!("with {}", names.join(", ")));
        return Err(
            table.error("remembers", message.help("leave `remembers` out, or choose another `profile`"))
        );
    }
    REMEMBERED.read(table, "remembers", node)
}

/// Flows of another congestion control have none, whatever the others have.
fn read_tuning(
    table: &Reader<'_>,
    default: Option<&Tuning>,
    [cc, profile]: [&str; 2],
    found: TcpChoice,
) -> Result<Option<Tuning>, Diagnostic> {
    let own = found.about();
    let own_name = own.map_or("", |own| own.name);
    let mut tuned = tuned(table.document().extensions());
    if let Some(other) = tuned.find(|about| about.name != own_name && table.node(about.name).is_some()) {
        let name = other.name;
        let message = Diagnostic::new(format!(
            "the parameters of `{name}` do not apply to `{cc}` of the profile `{profile}`"
        ));
        let message =
            message.allowed(format!("with `cc = \"{name}\"`, in the profiles where it is that one"));
        let help = format!("leave `{name}` out, or choose another `cc` or `profile`");
        return Err(table.error(name, message.help(help)));
    }
    let Some((own, node)) = own.and_then(|own| Some((own, table.node(own.name)?))) else {
        return Ok(default.filter(|tuning| tuning.controller == own_name).cloned());
    };
    let title = format!("`{}`", own.name);
    let inner = Reader::of_table(table.document(), node, &title)?;
    let names: Vec<&str> = own.parameters.iter().map(|parameter| parameter.name).collect();
    inner.only(&names)?;
    let read = |parameter: &Parameter| Ok((parameter.name, read_parameter(&inner, parameter)?));
    let values = own.parameters.iter().map(read).collect::<Result<_, Diagnostic>>()?;
    Ok(Some(Tuning { controller: own.name, values }))
}

/// Reads a parameter of a congestion control; its default if it is not given.
fn read_parameter(table: &Reader<'_>, parameter: &Parameter) -> Result<ParameterValue, Diagnostic> {
    let name = parameter.name;
    let given = match parameter.default {
        ParameterValue::Time(_) => TIME.given(table, name)?.map(ParameterValue::Time),
        ParameterValue::Number(_) => NUMBER.given(table, name)?.map(ParameterValue::Number),
        ParameterValue::Count(_) => whole(0..=u64::MAX).given(table, name)?.map(ParameterValue::Count),
    };
    let value = given.unwrap_or(parameter.default);
    match parameter.check(value) {
        Ok(()) => Ok(value),
        Err(_) => {
            let message = Diagnostic::new(format!("a {name} of {value} is not possible"));
            Err(table.error(name, message.allowed(parameter.range)))
        }
    }
}

/// The congestion controls that have parameters.
fn tuned(extensions: &Extensions) -> impl Iterator<Item = &'static About> + '_ {
    extensions.tcp().controllers().filter(|about| !about.parameters.is_empty())
}

fn read_delayed_ack(table: &Reader<'_>, key: &str, node: &Node) -> Result<Option<DelayedAck>, Diagnostic> {
    match &node.raw {
        Raw::Text(word) if word == "off" => Ok(None),
        Raw::Table(_) => {
            let Delay { every, timeout } = Delay::read(&Delay::TABLE.inside(table, key, node)?, ())?;
            Ok(Some(DelayedAck { every, timeout }))
        }
        _ => {
            let form = "a time such as \"40ms\", \"off\", or { every = 2, timeout = \"40ms\" }";
            let timeout = TIME.read(table, key, node).map_err(|error| error.allowed(form))?;
            check_delay(table, key, timeout)?;
            // RFC 5681 §4.2: an ACK for at least every second segment.
            Ok(Some(DelayedAck { every: 2, timeout }))
        }
    }
}

fn check_delay(table: &Reader<'_>, key: &str, timeout: Duration) -> Result<(), Diagnostic> {
    if !timeout.is_zero() && timeout <= Duration::from_secs(10) {
        return Ok(());
    }
    let message = Diagnostic::new(format!("an acknowledgement delay of {timeout} is not possible"));
    let message = message.allowed("above 0s, at most 10s");
    Err(table.error(key, message.help("write \"off\" to acknowledge each segment at once")))
}

/// Keys of `[tcp]`, and a table for each congestion control that has parameters.
pub(super) fn tcp_keys(extensions: &Extensions) -> Vec<&'static str> {
    let tables = tuned(extensions).map(|about| about.name);
    Tcp::TABLE.names().into_iter().chain(tables).collect()
}

/// Returns the JSON schemas of these keys by their names.
pub(super) fn tcp_properties() -> Value {
    let mut properties = merged(&[&Tcp::TABLE]);
    for about in tuned(&Extensions::new()) {
        let parameters = about.parameters.iter().map(|parameter| {
            let sort = match parameter.default {
                ParameterValue::Time(_) => "string",
                ParameterValue::Number(_) => "number",
                ParameterValue::Count(_) => "integer",
            };
            let meaning = format!(
                "{} Default: {} ({}). Allowed: {}.",
                parameter.doc, parameter.default, parameter.source, parameter.range
            );
            (parameter.name.to_owned(), json!({ "type": sort, "description": meaning }))
        });
        properties[about.name] = object(&parameters.collect(), &[]);
        properties[about.name]["description"] = json!(format!("Parameters of {}.", about.name));
    }
    properties
}

/// 65535 bytes scaled by 2^14 (RFC 7323 §2.2).
const MAX_RWND: u32 = 65_535 << 14;
/// IPv4 and TCP headers without options.
const TCP_IP_HEADERS: u32 = 40;
