//! Routers with simpler shapers than those of Linux.

use goodqueue::Rate;

use crate::encapsulation::Told as _;
use crate::question::Question;
use crate::setting::{Form, Notation, Setting, Setup, Side};

/// True if the router shapes at its interface towards the Internet. Some routers can shape nowhere
/// else.
fn is_for_internet(question: &Question) -> bool {
    question.kind.port.egress == 1
}

/// Returns the rates for routers that count the bytes of IP packets only, towards the home and the
/// Internet.
fn limited(question: &Question, setup: &Setup<'_>) -> Option<[Rate; 2]> {
    let kind = question.kind;
    is_for_internet(question).then(|| kind.accounted.rates_of_ip(setup.rates(question), kind.line.mtu))
}

/// Says what limiters of dummynet cannot express.
fn overhead_of_limiters() -> String {
    "A limiter counts the bytes of IP packets and knows no overhead, no cells and no smallest packet. So the rates are \
     lower than for Linux, to leave room for them. There is no sharing between devices and no ACK filter either."
        .to_owned()
}

/// Says that the values of the advice are those of another shaper.
fn not_simulated() -> String {
    "The values of the advice were simulated with the shaper of Linux. Measure this one, and lower the rates by a few \
     percent if pings under load are longer."
        .to_owned()
}

/// MikroTik RouterOS 7. Source: pages "Queues", "CAKE" and "Packet Flow in RouterOS" of MikroTik's
/// documentation of RouterOS 7. That `cake-bandwidth` of a queue type does not limit a queue tree
/// follows from a measurement of RouterOS 7.23 on an RB5009 that its owner published.
pub(super) const ROUTEROS: Notation =
    Notation { name: "routeros", title: "MikroTik RouterOS 7", setting: routeros };

fn routeros(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let [down, up] = limited(question, setup)?.map(|rate| rate.as_bps() / 1000);
    // RouterOS calls its first port ether1.
    let device = if question.device == question.kind.device() { "ether1" } else { &question.device };
    let types = [("down", Side::Ingress), ("up", Side::Egress)]
        .map(|(name, side)| format!("add name=goodqueue-{name} {}\n", setup.manager.routeros(side)))
        .concat();
    let marks = format!(
        "add chain=prerouting in-interface={device} action=mark-packet new-packet-mark=goodqueue-down passthrough=no comment=goodqueue\n\
         add chain=postrouting out-interface={device} action=mark-packet new-packet-mark=goodqueue-up passthrough=no comment=goodqueue\n"
    );
    let trees = [("down", down), ("up", up)].map(|(name, rate)| {
        format!(
            "add name=goodqueue-{name} parent=global packet-mark=goodqueue-{name} queue=goodqueue-{name} max-limit={rate}k\n"
        )
    });
    Some(Setting {
        name: ROUTEROS.name,
        place: format!("MikroTik RouterOS 7: paste into a terminal; {device} is its port to the modem"),
        form: Form::Commands,
        is_common: false,
        before: vec![
            "/ip firewall filter disable [find action=fasttrack-connection]   # such packets pass no queue".to_owned(),
        ],
        text: format!(
            "/queue type\n{types}/ip firewall mangle\n{marks}/ipv6 firewall mangle\n{marks}/queue tree\n{}",
            trees.concat()
        ),
        undo: vec![
            "/queue tree remove [find name~\"^goodqueue\"]".to_owned(),
            "/queue type remove [find name~\"^goodqueue\"]".to_owned(),
            "/ip firewall mangle remove [find comment=goodqueue]".to_owned(),
            "/ipv6 firewall mangle remove [find comment=goodqueue]".to_owned(),
            "/ip firewall filter enable [find action=fasttrack-connection]".to_owned(),
        ],
        remarks: vec![
            "In a queue tree max-limit sets the rate, and cake-overhead has no effect. So the rates are lower than for \
             Linux, to leave room for the overhead of the line."
                .to_owned(),
            "cake in RouterOS has no ingress mode.".to_owned(),
            not_simulated(),
        ],
    })
}

/// OPNsense: pipes of dummynet with FQ-CoDel. Source: OPNsense documentation, "Fighting Bufferbloat
/// with FQ_CoDel" (2026), and ipfw(8) of FreeBSD 14.
pub(super) const OPNSENSE: Notation = Notation { name: "opnsense", title: "OPNsense", setting: opnsense };

fn opnsense(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let [down, up] = limited(question, setup)?.map(|rate| rate.as_bps() / 1000);
    Some(Setting {
        name: OPNSENSE.name,
        place: "OPNsense: Firewall > Shaper, with advanced mode on, then Apply".to_owned(),
        form: Form::Page,
        is_common: false,
        before: Vec::new(),
        text: format!(
            "Pipes > +                      Download        Upload\n\
             \x20 enabled                      checked         checked\n\
             \x20 bandwidth                    {down:<15} {up}\n\
             \x20 bandwidth metric             Kbit/s          Kbit/s\n\
             \x20 scheduler type               FlowQueue-CoDel FlowQueue-CoDel\n\
             \x20 (FQ-)CoDel ECN               checked         checked\n\
             \x20 FQ-CoDel limit               1000            1000\n\
             \x20 description                  Download        Upload\n\
             Queues > +\n\
             \x20 enabled                      checked         checked\n\
             \x20 pipe                         Download        Upload\n\
             \x20 weight                       100             100\n\
             \x20 description                  Download-Queue  Upload-Queue\n\
             Rules > +\n\
             \x20 enabled                      checked         checked\n\
             \x20 interface                    WAN             WAN\n\
             \x20 proto                        ip              ip\n\
             \x20 direction                    in              out\n\
             \x20 target                       Download-Queue  Upload-Queue\n\
             Leave every other field as it is.\n"
        ),
        undo: vec!["clear \"enabled\" of both rules, then Apply".to_owned()],
        remarks: vec![
            overhead_of_limiters(),
            "Before OPNsense 25.7.8, leave FQ-CoDel limit empty: a full queue filled the log.".to_owned(),
            not_simulated(),
        ],
    })
}

/// pfSense: limiters of dummynet with FQ_CODEL. Source: pfSense documentation, recipe "Configuring
/// CoDel Limiters for Bufferbloat" (2024), and ipfw(8) of FreeBSD 14.
pub(super) const PFSENSE: Notation = Notation { name: "pfsense", title: "pfSense", setting: pfsense };

fn pfsense(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let [down, up] = limited(question, setup)?.map(|rate| rate.as_bps() / 1000);
    Some(Setting {
        name: PFSENSE.name,
        place: "pfSense: Firewall > Traffic Shaper > Limiters, then a floating rule, then Apply Changes"
            .to_owned(),
        form: Form::Page,
        is_common: false,
        before: Vec::new(),
        // In a floating rule with the direction `out`, pfSense swaps the pipes: `In` takes what
        // leaves.
        text: format!(
            "New Limiter                      Download        Upload\n\
             \x20 Enable                         checked         checked\n\
             \x20 Name                           WANDown         WANUp\n\
             \x20 Bandwidth (Kbit/s)             {down:<15} {up}\n\
             \x20 Mask                           None            None\n\
             \x20 Queue Management Algorithm     Tail Drop       Tail Drop\n\
             \x20 Scheduler                      FQ_CODEL        FQ_CODEL\n\
             \x20 Queue Length                   1000            1000\n\
             \x20 ECN                            checked         checked\n\
             Add New Queue below each\n\
             \x20 Enable                         checked         checked\n\
             \x20 Name                           WANDownQ        WANUpQ\n\
             \x20 Mask                           None            None\n\
             \x20 Queue Management Algorithm     Tail Drop       Tail Drop\n\
             Firewall > Rules > Floating > Add\n\
             \x20 Action                         Match\n\
             \x20 Interface                      WAN\n\
             \x20 Direction                      out\n\
             \x20 Address Family                 IPv4, and a second rule for IPv6\n\
             \x20 Protocol                       Any\n\
             \x20 Gateway                        the gateway of WAN\n\
             \x20 In / Out pipe                  WANUpQ / WANDownQ\n\
             Leave every other field as it is.\n"
        ),
        undo: vec!["disable the floating rule, then Apply Changes".to_owned()],
        remarks: vec![overhead_of_limiters(), not_simulated()],
    })
}

/// UniFi gateways: Smart Queues, an `fq_codel` below a shaper. Source: settings of UniFi Network 9
/// as its programming interface names them (`wan_smartq_down_rate`, `wan_smartq_up_rate`).
pub(super) const UNIFI: Notation = Notation { name: "unifi", title: "UniFi gateways", setting: unifi };

fn unifi(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let rates = limited(question, setup)?;
    // Rounded up, a shaper would be faster than the line, and rounded down it would carry nothing.
    let down = mbit(rates[0])?;
    let up = mbit(rates[1])?;
    Some(Setting {
        name: UNIFI.name,
        place: "UniFi: Settings > Internet > your WAN > Advanced: Manual".to_owned(),
        form: Form::Page,
        is_common: false,
        before: Vec::new(),
        text: format!(
            "Smart Queues     on\n\
             \x20 Down Rate      {down} Mbps\n\
             \x20 Up Rate        {up} Mbps\n"
        ),
        undo: vec!["switch Smart Queues off".to_owned()],
        remarks: vec![
            "Smart Queues take two rates, and neither the overhead of the line nor parameters of the queue. So the rates \
             are lower than for Linux, to leave room for the overhead."
                .to_owned(),
            "Smart Queues switch hardware acceleration off: the gateway becomes slower at high rates.".to_owned(),
            not_simulated(),
        ],
    })
}

/// Returns a rate in Mbit/s, rounded down; `None` if it would be 0.0.
fn mbit(rate: Rate) -> Option<String> {
    let tenths = rate.as_bps() / 100_000;
    match tenths {
        0 => None,
        // A whole number would cut up to a tenth off these rates.
        1..100 => Some(format!("{}.{}", tenths / 10, tenths % 10)),
        _ => Some((tenths / 10).to_string()),
    }
}

/// eero: a switch without rates. Source: bufferbloat.net, "What Can I Do About Bufferbloat", which
/// names the switch, and eero's programming interface, in which it is one truth value.
pub(super) const EERO: Notation = Notation { name: "eero", title: "eero", setting: eero };

fn eero(question: &Question, _: &Setup<'_>) -> Option<Setting> {
    is_for_internet(question).then(|| Setting {
        name: EERO.name,
        place: "eero: the app, Discover or Settings > eero Labs".to_owned(),
        form: Form::Page,
        is_common: false,
        before: Vec::new(),
        text: "Optimize for Conferencing and Gaming     on\n".to_owned(),
        undo: vec!["switch it off".to_owned()],
        remarks: vec![
            "Newer versions of the app call it SQM (Settings > Advanced networking).".to_owned(),
            "eero takes no rates: it measures the line itself. So nothing of this advice can be set, and its values say \
             nothing about your eero. Measure before and after."
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_rounded_down() {
        let shown = [100_000, 985_000, 9_990_000, 87_900_000].map(|bps| mbit(Rate::from_bps(bps)));
        assert_eq!(shown, ["0.1", "0.9", "9.9", "87"].map(|text| Some(text.to_owned())));
        assert_eq!(mbit(Rate::from_bps(99_999)), None, "not 0.0");
    }
}
