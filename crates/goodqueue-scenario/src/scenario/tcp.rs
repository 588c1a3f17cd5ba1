//! `[tcp]`, and the same keys of flows: how the ends of a TCP connection behave.

use goodqueue::Duration;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tcp::congestion::parameter::{Parameter, Value as ParameterValue};
use goodqueue_tcp::congestion::{About, Needs};
use goodqueue_tcp::registry::Known;
use goodqueue_tcp::{AnyCongestionControl, DelayedAck, HyStart, Profile};
use serde_json::{Value, json};

use super::document::{Document, Raw};
use super::link::BottleneckLink;
use super::names::Choices;
use super::reader::Reader;

/// The ends of a TCP connection.
#[derive(Clone, PartialEq, Debug)]
pub struct Tcp {
    /// Name of the congestion control.
    pub cc: String,
    /// Initial window in segments.
    pub iw: u32,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// How acknowledgements are delayed; `None`: not at all.
    pub delayed_ack: Option<DelayedAck>,
    /// ECN is negotiated.
    pub ecn: bool,
    /// ECN-capable packets carry ECT(1), the identifier of L4S.
    pub l4s: bool,
    /// Selective acknowledgements are used.
    pub sack: bool,
    /// Least retransmission timeout.
    pub min_rto: Duration,
    /// The receiver's window in bytes; `None`: the profile's.
    pub rwnd: Option<u32>,
    /// Who ends slow start before a loss does; `None`: as the profile has it.
    pub hystart: Option<HyStart>,
    /// State from earlier connections to the same host.
    pub remembers: Remembered,
    /// Parameters of the congestion control that differ from its defaults.
    pub tuning: Option<Tuning>,
    /// Name of the rest of its behaviour.
    pub profile: String,
    /// What the names of its profile and its congestion control stand for.
    found: Found,
}

/// A profile and a congestion control, found by their names.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
struct Found {
    profile: Option<&'static Profile>,
    /// The congestion control of this name.
    plain: Option<Known>,
    /// The congestion control in the variant of the profile.
    variant: Option<Known>,
}

impl Found {
    fn of(document: &Document, profile: &str, cc: &str) -> Self {
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
        self.needs() == Needs::AccurateEcn
    }
}

/// Parameters of one congestion control.
#[derive(Clone, PartialEq, Debug)]
pub struct Tuning {
    /// Name of the congestion control that has them.
    pub controller: &'static str,
    /// All of its parameters, in the order of its table.
    pub values: Vec<(&'static str, ParameterValue)>,
}

/// State that a Linux connection inherits from earlier connections to the same host.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Remembered {
    /// Their round-trip time.
    pub rtt: Option<Duration>,
    /// Its mean deviation; `None`: as large.
    pub rttvar: Option<Duration>,
    /// Their slow-start threshold in segments.
    pub ssthresh: Option<u32>,
}

impl Tcp {
    pub(super) fn to_json(&self) -> Value {
        let delayed_ack = match self.delayed_ack {
            Some(ack) => json!({ "every": ack.every, "timeout": ack.timeout.to_string() }),
            None => json!("off"),
        };
        let mut table = json!({
            "cc": self.cc,
            "iw": self.iw,
            "mss": self.mss,
            "delayed_ack": delayed_ack,
            "ecn": self.ecn,
            "sack": self.sack,
            "min_rto": self.min_rto.to_string(),
            "profile": self.profile,
        });
        if self.found.is_scalable() {
            table["l4s"] = json!(self.l4s);
        }
        if let Some(rwnd) = self.rwnd {
            table["rwnd"] = json!(rwnd);
        }
        if let Some(hystart) = self.hystart {
            table["hystart"] = json!(hystart.name());
        }
        if let Some(rtt) = self.remembers.rtt {
            table["remembers"]["rtt"] = json!(rtt.to_string());
        }
        if let Some(rttvar) = self.remembers.rttvar {
            table["remembers"]["rttvar"] = json!(rttvar.to_string());
        }
        if let Some(ssthresh) = self.remembers.ssthresh {
            table["remembers"]["ssthresh"] = json!(ssthresh);
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
        table
    }

    /// Its keys, beside others in the table of a flow.
    pub(super) fn write(&self, flow: &mut Value) {
        if let (Value::Object(flow), Value::Object(tcp)) = (flow, self.to_json()) {
            flow.extend(tcp);
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
            delayed_ack: self.delayed_ack.unwrap_or(DelayedAck::OFF),
            ecn: self.ecn,
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
        mss: link.mtu.saturating_sub(TCP_IP_HEADERS).max(1),
        delayed_ack: Some(DelayedAck { every: 2, timeout: Duration::from_millis(40) }),
        ecn: false,
        l4s: false,
        sack: true,
        min_rto: Duration::from_millis(200),
        rwnd: None,
        hystart: None,
        remembers: Remembered::default(),
        tuning: None,
        profile: String::new(),
        found: Found::default(),
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
        let goodqueue_tcp::Config { iw, delayed_ack, ecn, sack, min_rto, .. } = known.settings;
        tcp.iw = iw;
        // ns-2's FullTcp delays the ACK of what is less than a segment.
        let delays = delayed_ack.every > 1 || known.settings.carries_acks();
        tcp.delayed_ack = delays.then_some(delayed_ack);
        tcp.ecn = ecn;
        tcp.sack = sack;
        tcp.min_rto = if profile == "rfc" { Duration::from_millis(200) } else { min_rto };
        profile.clone_into(&mut tcp.profile);
    }
    tcp
}

pub(super) fn read_tcp(
    table: &Reader<'_>,
    default: &Tcp,
    link: &BottleneckLink,
    names: &Choices<'_>,
) -> Result<Tcp, Diagnostic> {
    let profile = table.choice("profile", &default.profile, &names.profiles)?;
    let default = &of_profile(table.document(), default, profile);
    let mss = table.small("mss", default.mss, 1, link.mtu)?;
    if mss + TCP_IP_HEADERS > link.mtu {
        let largest = link.mtu.saturating_sub(TCP_IP_HEADERS);
        let message = Diagnostic::new(format!(
            "a segment of {mss} bytes and {TCP_IP_HEADERS} bytes of headers do not fit the MTU of {}",
            link.mtu
        ));
        return Err(table.error("mss", message.allowed(format!("1 to {largest}"))));
    }
    let min_rto = table.time("min_rto")?.unwrap_or(default.min_rto);
    if min_rto.is_zero() || min_rto > Duration::from_secs(60) {
        let message = Diagnostic::new(format!("a minimum timeout of {min_rto} is not possible"));
        return Err(table.error("min_rto", message.allowed("above 0s, at most 60s")));
    }
    let cc = table.choice("cc", &default.cc, &names.cc)?;
    let found = Found::of(table.document(), profile, cc);
    Ok(Tcp {
        cc: cc.to_owned(),
        iw: table.small("iw", default.iw, 1, 10_000)?,
        mss,
        delayed_ack: read_delayed_ack(table, default.delayed_ack)?,
        ecn: table.flag("ecn", default.ecn)?,
        l4s: read_l4s(table, default.l4s, cc, found)?,
        sack: read_sack(table, default.sack, profile, found)?,
        min_rto,
        rwnd: read_rwnd(table, mss)?.or(default.rwnd),
        hystart: read_hystart(table, default.hystart, cc, found)?,
        remembers: read_remembered(table, default.remembers, profile, found)?,
        tuning: read_tuning(table, default.tuning.as_ref(), cc, profile, found)?,
        profile: profile.to_owned(),
        found,
    })
}

/// The default profile needs SACK, so a scenario may name neither the profile nor the reason.
fn read_sack(table: &Reader<'_>, default: bool, profile: &str, found: Found) -> Result<bool, Diagnostic> {
    let sack = table.flag("sack", default)?;
    let works = |known: &Profile| goodqueue_tcp::Config { sack: false, ..known.settings }.check().is_ok();
    if !sack && found.profile.is_some_and(|known| !works(known)) {
        let all = table.document().extensions().profiles();
        let others: Vec<&str> = all.filter(|known| works(known)).map(|known| known.name).collect();
        let message = Diagnostic::new(format!("the profile `{profile}` needs SACK"))
            .allowed(format!("with `profile` = {}", others.join(", ")));
        return Err(table.error("sack", message.help("leave `sack` out, or choose one of these profiles")));
    }
    Ok(sack)
}

/// A network gives L4S packets a short queue, and expects their senders to be scalable (RFC 9331
/// §4.3). Classic flows of the same scenario keep ECT(0).
fn read_l4s(table: &Reader<'_>, default: bool, cc: &str, found: Found) -> Result<bool, Diagnostic> {
    if table.flag("l4s", false)? && !found.is_scalable() {
        let all = table.document().extensions().tcp().controllers();
        let scalable = all.filter(|about| about.needs == Needs::AccurateEcn);
        let names: Vec<&str> = scalable.map(|about| about.name).collect();
        let message = Diagnostic::new(format!("L4S needs a scalable congestion control, and `{cc}` is not"));
        return Err(table.error("l4s", message.allowed(format!("with cc = {}", names.join(", ")))));
    }
    Ok(table.flag("l4s", default)? && found.is_scalable())
}

fn read_rwnd(table: &Reader<'_>, mss: u32) -> Result<Option<u32>, Diagnostic> {
    let Some(bytes) = table.size("rwnd")? else { return Ok(None) };
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
    found: Found,
) -> Result<Option<HyStart>, Diagnostic> {
    let fits = found.about().is_some_and(|about| about.standard_slow_start);
    let given = table.choice("hystart", "", &HyStart::ALL.map(HyStart::name))?;
    match HyStart::ALL.into_iter().find(|hystart| hystart.name() == given) {
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
    found: Found,
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
    let inner = Reader::of(table.document(), node, "`remembers`")?;
    inner.only(&["rtt", "rttvar", "ssthresh"])?;
    let time = |key| match inner.time(key)? {
        Some(time) if time > Duration::from_secs(60) => {
            let message = Diagnostic::new(format!("a round-trip time of {time} is not remembered"));
            Err(inner.error(key, message.allowed("at most 60s")))
        }
        time => Ok(time),
    };
    let (rtt, rttvar) = (time("rtt")?, time("rttvar")?);
    let ssthresh = match inner.node("ssthresh") {
        Some(_) => Some(inner.small("ssthresh", 2, 2, 1_000_000)?),
        None => None,
    };
    Ok(Remembered { rtt, rttvar, ssthresh })
}

/// Flows of another congestion control have none, whatever the others have.
fn read_tuning(
    table: &Reader<'_>,
    default: Option<&Tuning>,
    cc: &str,
    profile: &str,
    found: Found,
) -> Result<Option<Tuning>, Diagnostic> {
    let own = found.about();
    let own_name = own.map_or("", |own| own.name);
    if let Some(other) =
        tuned(table.document()).find(|about| about.name != own_name && table.node(about.name).is_some())
    {
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
    let inner = Reader::of(table.document(), node, &title)?;
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
        ParameterValue::Time(_) => table.time(name)?.map(ParameterValue::Time),
        ParameterValue::Number(_) => table.number(name)?.map(ParameterValue::Number),
        ParameterValue::Count(default) => {
            Some(ParameterValue::Count(table.integer(name, default, 0, u64::MAX)?))
        }
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
fn tuned(document: &Document) -> impl Iterator<Item = &'static About> + '_ {
    document.extensions().tcp().controllers().filter(|about| !about.parameters.is_empty())
}

fn read_delayed_ack(
    table: &Reader<'_>,
    default: Option<DelayedAck>,
) -> Result<Option<DelayedAck>, Diagnostic> {
    let Some(node) = table.node("delayed_ack") else { return Ok(default) };
    if let Raw::Text(word) = &node.raw
        && word == "off"
    {
        return Ok(None);
    }
    if let Raw::Table(_) = node.raw {
        let inner = Reader::of(table.document(), node, "`delayed_ack`")?;
        inner.only(&["every", "timeout"])?;
        let every = inner.small("every", 2, 1, 1000)?;
        let timeout = inner.time("timeout")?.unwrap_or(Duration::from_millis(40));
        return checked_delayed_ack(&inner, "timeout", DelayedAck { every, timeout });
    }
    let form = "a time such as \"40ms\", \"off\", or { every = 2, timeout = \"40ms\" }";
    let timeout = table.time("delayed_ack").map_err(|error| error.allowed(form))?.unwrap_or_default();
    checked_delayed_ack(table, "delayed_ack", DelayedAck { every: 2, timeout })
}

fn checked_delayed_ack(
    table: &Reader<'_>,
    key: &str,
    ack: DelayedAck,
) -> Result<Option<DelayedAck>, Diagnostic> {
    if ack.timeout.is_zero() || ack.timeout > Duration::from_secs(10) {
        let message = Diagnostic::new(format!("an acknowledgement delay of {} is not possible", ack.timeout));
        let message = message.allowed("above 0s, at most 10s");
        return Err(table.error(key, message.help("write \"off\" to acknowledge each segment at once")));
    }
    Ok(Some(ack))
}

/// Keys of `[tcp]`: those of connections, and a table for each congestion control that has
/// parameters.
pub(super) fn tcp_keys(document: &Document) -> Vec<&'static str> {
    let tables = tuned(document).map(|about| about.name);
    CONNECTION_KEYS.iter().copied().chain(tables).chain(["profile"]).collect()
}
const CONNECTION_KEYS: &[&str] =
    &["cc", "iw", "mss", "delayed_ack", "ecn", "l4s", "sack", "min_rto", "rwnd", "hystart", "remembers"];
/// 65535 bytes scaled by 2^14 (RFC 7323 §2.2).
const MAX_RWND: u32 = 65_535 << 14;
/// IPv4 and TCP headers without options.
const TCP_IP_HEADERS: u32 = 40;
