//! The sentence of every rule.
//!
//! `{name}` is a number of the rule with its unit, `{name:n}` the number without its unit, and
//! `{name:.2}` a number with two decimal places. `{verb}` is "sent", "marked" or "dropped".

/// Identities of rules, and their sentences.
pub const SENTENCES: &[(&str, &str)] = &[
    // Queues and limits.
    (
        "limit.queue",
        "The queue held {held}; the limit is {allowed}. A full queue drops the packet that arrives.",
    ),
    (
        "limit.memory",
        "The memory in use was {held}; the limit is {allowed}. A full queue drops the packet that \
         arrives.",
    ),
    (
        "fifo.in_order",
        "Packets leave in the order in which they arrived, and nothing but the limit drops one.",
    ),
    (
        "fifo.full_head",
        "The queue held {held}; the limit is {allowed}. A full queue drops its oldest packet, which was \
         this one, to admit another.",
    ),
    ("aqm.signal", "The algorithm {verb} it. The table has all that it remembered."),
    // AQMs that look at the sojourn time.
    (
        "codel.below_target",
        "It had waited {sojourn}, less than the target of {target}: there is no standing queue.",
    ),
    (
        "codel.phase_ends",
        "It had waited {sojourn}, less than the target of {target}: there is no standing queue, and \
         the dropping phase ends.",
    ),
    (
        "codel.last_packet",
        "It had waited {sojourn}, but at most one packet ({behind}) was queued behind it. CoDel never \
         drops the last packet.",
    ),
    (
        "codel.first_above",
        "It had waited {sojourn}, not less than the target of {target}, but the packet before it had \
         waited for less. The queue now has an interval of {interval} to recover.",
    ),
    (
        "codel.drop_not_due",
        "CoDel is in a dropping phase (count {count}), but the next drop is due only {drop_next}.",
    ),
    (
        "codel.within_interval",
        "It had waited {sojourn}, not less than the target of {target}, but the queue has not been \
         above the target for an interval of {interval}: that will be the case {first_above}.",
    ),
    (
        "codel.after_drops",
        "It had waited {sojourn}. CoDel dropped other packets in the same call, so none was due any \
         more.",
    ),
    (
        "codel.drop_due",
        "It had waited {sojourn}, not less than the target of {target}. CoDel was in a dropping phase \
         (count {count}), and the next drop was due {drop_next}: the packet was {verb}. The following \
         one is due interval / sqrt(count) = {spacing} after that time.",
    ),
    (
        "codel.phase_begins",
        "It had waited {sojourn}, and no packet had waited less than the target of {target} for a \
         whole interval of {interval}. So there was a standing queue: a dropping phase began, and the \
         packet was {verb}.",
    ),
    (
        "codel.ce_threshold",
        "It had waited {sojourn}, longer than ce_threshold ({ce_threshold}): the packet was {verb}.",
    ),
    (
        "codel.same_call",
        "It had waited {sojourn}, not less than the target of {target}, and was {verb} after other \
         packets in the same call.",
    ),
    (
        "codel.full",
        "The queue held {held}; the limit is {allowed}. A full queue drops the packet that arrives, \
         whatever CoDel's state is.",
    ),
    (
        "codel_dt.signal",
        "The packet that left last had been above target, as all were for an interval, and a drop was \
         due. CoDel-DT signals to the packet that arrives, which was {verb}.",
    ),
    (
        "cobalt.signal_due",
        "It had waited {sojourn}, longer than the target of {target}, and signal {signal} was due \
         {drop_next}. The packet was {verb}; the next signal is due interval / sqrt(count) after that \
         time.",
    ),
    (
        "cobalt.blue",
        "BLUE's probability was {blue_prob}, because the queue had overflowed. A draw with it hit the \
         packet.",
    ),
    (
        "cobalt.above_target",
        "It had waited {sojourn}, longer than the target of {target}: the packet was {verb}.",
    ),
    ("cobalt.on_time", "It had waited {sojourn}, not longer than the target of {target}: no signal."),
    (
        "cobalt.last_packet",
        "It had waited {sojourn}, but it was the last packet of its queue, which is never dropped.",
    ),
    (
        "cobalt.not_signalled",
        "It had waited {sojourn}, longer than the target of {target}, but a signal was not due.",
    ),
    (
        "cobalt.not_due",
        "It had waited {sojourn}, longer than the target of {target}, but a signal was not due: the \
         next one is due {drop_next}.",
    ),
    (
        "cobalt.full",
        "The queue held {held}; the limit is {allowed}. A full queue drops its oldest packet, and \
         BLUE's probability rises.",
    ),
    (
        "cnq_codel_af.sparse",
        "Its flow had no packet in the bulk queue: it joined the sparse queue, and a dummy took its place in the \
         bulk queue.",
    ),
    (
        "cnq_codel_af.bulk",
        "Its flow had {flow_packets} in the bulk queue, with its dummy: it joined the bulk queue.",
    ),
    ("cnq_codel_af.first", "It was in the sparse queue, which is served first."),
    (
        "cnq_codel_af.signal_due",
        "It had waited {sojourn}, which is {weighted} when weighted by its flow's share of the queue. That is \
         longer than the target of {target}, and signal {signal} of the flow was due {drop_next}. The packet was \
         {verb}; the next signal is due interval / sqrt(count) after that time.",
    ),
    (
        "cnq_codel_af.blue",
        "BLUE's probability was {blue_prob} before the packet, because its flow has far more than its share of \
         a long queue. A draw hit the packet.",
    ),
    (
        "cnq_codel_af.on_time",
        "It had waited {sojourn}, which is {weighted} when weighted by its flow's share of the queue. That is not \
         longer than the target of {target}: no signal.",
    ),
    (
        "cnq_codel_af.last_of_flow",
        "It had waited {sojourn}, but it was the last packet of its flow, which is never dropped.",
    ),
    (
        "cnq_codel_af.not_due",
        "It had waited {sojourn}, which is {weighted} when weighted by its flow's share of the queue. That is \
         longer than the target of {target}, but a signal was not due.",
    ),
    // AQMs with a drop probability.
    (
        "pie.certain",
        "The drop probability was {probability}, after a queue delay of {delay} where {target} is \
         aimed at. The probabilities since the last drop add up to {sum:.2}, and from {certain} on a \
         drop is certain.",
    ),
    (
        "pie.hit",
        "The drop probability was {probability}, after a queue delay of {delay} where {target} is \
         aimed at. A random draw with this probability hit the packet, which was {verb}.",
    ),
    ("pie.inactive", "PIE was not active: it begins when a third of the limit is in use."),
    ("pie.burst", "A burst allowance of {burst_allowance} was left: PIE drops nothing until it is used up."),
    ("pie.zero", "The drop probability was 0: the queue delay was {delay}, and {target} is aimed at."),
    (
        "pie.calm",
        "The queue delay ({tested_delay}) was below half of the target ({target}), and the \
         probability ({probability}) below {calm}: no drop, so that the link stays busy.",
    ),
    ("pie.few", "Only {backlog} were queued. PIE drops nothing behind at most two packets."),
    (
        "pie.spaced",
        "The drop probability was {probability}, but the probabilities since the last drop add up to \
         {sum:.3} only; below {spacing} no packet is dropped.",
    ),
    ("pie.missed", "The drop probability was {probability}, and a random draw with it missed the packet."),
    (
        "docsis.sanction",
        "Queue protection moved it to C: the delay of L was {delay_l}, and the score of its flow {score}. The \
         product exceeds that of {critical_delay} and {critical_score}.",
    ),
    (
        "docsis.mark",
        "L marks with {p_L}, the larger of its own probability and that of the coupling. With {marks_due} since \
         the last mark that exceeds 1: {verb}.",
    ),
    (
        "docsis.no_mark",
        "L marks with {p_L}, the larger of its own probability and that of the coupling. With {marks_due} since \
         the last mark that does not exceed 1: no mark.",
    ),
    (
        "docsis.hit_c",
        "The drop probability of C was {p_C}, after a delay of {delay_c} where {target} is aimed at. A random \
         draw hit the packet, or the probabilities since the last drop reached 8.5.",
    ),
    ("docsis.burst", "A burst allowance of {burst} was left: C drops nothing until it is used up."),
    ("docsis.inactive", "C was less than a third full: it drops nothing."),
    ("docsis.short_c", "The drop probability of C was {p_C}, but C was too short for a drop."),
    (
        "docsis.missed_c",
        "The drop probability of C was {p_C}. The draw missed the packet, or the probabilities since the last \
         drop were below 0.85.",
    ),
    (
        "dualpi2.overload",
        "The base probability p' ({p'}) is above the one at which L is marked with certainty: the \
         queue is overloaded, and both queues drop with p'^2 = {p_C = p'^2}. This packet was {verb}.",
    ),
    ("dualpi2.step", "It had waited {sojourn} in L, and L is beyond its threshold of {step}: {verb}."),
    (
        "dualpi2.hit_l",
        "L marks with the larger of its own probability ({p'_L}) and that of the coupling, k p' = \
         {p_CL = k p'}. A draw with it hit the packet.",
    ),
    (
        "dualpi2.hit_c",
        "C drops or marks with p'^2 = {p_C = p'^2}: two draws with p' = {p'} hit the packet, which \
         was {verb}.",
    ),
    (
        "dualpi2.short_l",
        "L marks with the larger of its own probability ({p'_L}) and that of the coupling, k p' = \
         {p_CL = k p'}. The packet was not hit: less than two packets were queued.",
    ),
    (
        "dualpi2.missed_l",
        "L marks with the larger of its own probability ({p'_L}) and that of the coupling, k p' = \
         {p_CL = k p'}. The packet was not hit.",
    ),
    (
        "dualpi2.short_c",
        "C drops or marks with p'^2 = {p_C = p'^2}. The packet was not hit: less than two packets \
         were queued.",
    ),
    ("dualpi2.missed_c", "C drops or marks with p'^2 = {p_C = p'^2}. The packet was not hit."),
    (
        "red.forced",
        "The average queue was {average} bytes, not below the upper threshold of {max}. There every \
         packet is {verb}.",
    ),
    (
        "red.early",
        "The average queue was {average} bytes, between the thresholds of {min:n} and {max}. That \
         gives a probability of {probability}, which grows with every packet that is spared. This \
         packet was {verb}.",
    ),
    ("red.below_min", "The average queue was {average} bytes, below the lower threshold of {min}."),
    (
        "red.first",
        "The average queue was {average} bytes, between the thresholds of {min:n} and {max}, and below \
         {min} at the arrival before. The count of packets begins with this one, which is always spared.",
    ),
    (
        "red.short",
        "The queue held {packets}. Nothing is signalled while it holds at most one packet, whatever the \
         average is.",
    ),
    (
        "red.kept",
        "The average queue was {average} bytes, above the lower threshold of {min}, with a probability of \
         {probability}. The packet was to be signalled, but cannot carry a mark, and `nodrop` forbids to \
         drop it.",
    ),
    (
        "red.missed",
        "The average queue was {average} bytes, between the thresholds of {min:n} and {max}, but the \
         draw with a probability of {probability} spared the packet.",
    ),
    (
        "red.full",
        "The queue held {held}; the limit is {allowed}. A packet that does not fit is dropped, whatever \
         the average is.",
    ),
    (
        "choke.above_max",
        "The average queue was not below max: every packet that arrives is dropped, and with it a \
         packet drawn from the queue if it is of the same flow.",
    ),
    (
        "choke.matched_or_hit",
        "The average queue was between min and max. A packet drawn from the queue was of the same \
         flow, which costs both (`matched` rises), or RED's own draw hit the packet (`matched` \
         stays).",
    ),
    ("choke.drawn", "A packet of the same flow arrived and drew this one from the queue: CHOKe drops both."),
    ("choke.below_min", "The average queue was below min: no packet is compared."),
    (
        "choke.missed",
        "A packet drawn from the queue was of another flow, and RED's own draw missed the packet.",
    ),
    ("blue.hit", "BLUE's probability was {probability}, and a draw with it hit the packet."),
    ("blue.missed", "BLUE's probability was {probability}, and a draw with it missed the packet."),
    (
        "blue.full",
        "The queue held {held}; the limit is {allowed}. A full queue drops the packet that arrives, and \
         the probability rises.",
    ),
    ("hfsc.no_class", "No class takes the packet, and there is no default class: it is dropped."),
    (
        "hfsc.real_time",
        "Its class needed its guarantee, and of all such classes it had the first deadline: real-time curves come \
         first.",
    ),
    (
        "hfsc.link_sharing",
        "No class needed its guarantee. From the root down, its class and those above it had the smallest virtual \
         times of those that their upper limits let send.",
    ),
    ("hhf.known", "Its flow was in the table of heavy hitters: it joined their queue."),
    (
        "hhf.added",
        "With this packet the smallest counter of its flow was {smallest}, above {admit_bytes}: its flow became a \
         heavy hitter, and it joined their queue.",
    ),
    (
        "hhf.refused",
        "All counters of its flow were above the threshold, but the table of heavy hitters was full: it joined \
         the queue of all other flows.",
    ),
    (
        "hhf.small",
        "With this packet the smallest counter of its flow was {smallest}, not above {admit_bytes}: it joined the \
         queue of all flows that are no heavy hitters.",
    ),
    ("hhf.first", "The queue of flows that are no heavy hitters had been empty, so it was served first."),
    (
        "hhf.turn",
        "The turn of its queue had come. For each share of the heavy hitters, all other flows have \
         {non_hh_weight}.",
    ),
    (
        "hhf.full",
        "The queue held {held}; the limit is {allowed}. A full queue drops the oldest packet of the heavy \
         hitters, or the oldest of all if there are none.",
    ),
    (
        "sfb.no_token",
        "The probability of each of its {bins} bins was 1: its flow does not respond. The penalty box \
         had no token left; all such flows together may send {penalty_rate} packets per second.",
    ),
    (
        "sfb.token",
        "The probability of each of its {bins} bins was 1: its flow does not respond. The penalty box \
         had a token for it; all such flows together may send {penalty_rate} packets per second.",
    ),
    (
        "sfb.hit",
        "The smallest of the probabilities of its {bins} bins was {learned}, and a draw with it hit \
         the packet.",
    ),
    (
        "sfb.missed",
        "The smallest of the probabilities of its {bins} bins was {learned}, and a draw with it \
         missed the packet.",
    ),
    (
        "sfb.full_bins",
        "Its flow held {held}; the limit is {allowed}. Each of its bins was that long, so the packet \
         that arrives is dropped.",
    ),
    // Schedulers of flows.
    (
        "flows.new",
        "Its queue was empty and on no list. It became a new flow, and new flows are served first.",
    ),
    (
        "flows.listed",
        "Its queue ({flow}) already held {flow_packets} ({flow_backlog}) and was among the {list}: \
         the packet waits behind those of its own flow.",
    ),
    (
        "flows.turn",
        "It waited {sojourn} for the packets of its own flow in front of it and for the turns of \
         other queues: {active} active, {quantum} each per round.",
    ),
    (
        "fq_codel.full",
        "The queue held {held}; the limit is {allowed}. The arriving packet did not fit. The queue with \
         the most bytes (number {fattest}, {fattest_backlog}) pays: it loses packets from its head \
         until half of its bytes are gone, at most {drop_batch}.",
    ),
    (
        "fq_codel.full_memory",
        "The memory in use was {held}; the limit is {allowed}. The arriving packet did not fit. The \
         queue with the most bytes (number {fattest}, {fattest_backlog}) pays: it loses packets from \
         its head until half of its bytes are gone, at most {drop_batch}.",
    ),
    (
        "cake.queued",
        "It went into queue {flow} of tin {tin}, behind {flow_packets} ({flow_backlog}) of its own; \
         the queue's set was: {set}.",
    ),
    (
        "cake.shaped",
        "It waited {sojourn} for the shaper of {bandwidth}, for the packets of its flow in front of \
         it, and for the turns of other flows.",
    ),
    ("cake.superseded", "A later acknowledgement of its flow made it redundant (ack-filter)."),
    (
        "cake.full",
        "The memory in use was {held}; the limit is {allowed}. The queue with the most bytes pays: it \
         loses packets from its head.",
    ),
    ("fq.beyond_horizon", "Its sender asked for a departure beyond the horizon: dropped."),
    ("fq.late", "It left later than planned by more than ce_threshold: {verb}."),
    (
        "fq.full_band",
        "Its band held {held}; the limit is {allowed}. A full band drops the packet that arrives.",
    ),
    (
        "fq.full_flow",
        "Its flow held {held}; the limit is {allowed}. A full flow drops the packet that arrives.",
    ),
    ("sfq.turn", "Buckets are served in turn, and within a bucket the first packet goes first."),
    (
        "sfq.full",
        "The queue held {held}; the limit is {allowed}. The arriving packet did not fit, and the \
         fullest bucket loses a packet.",
    ),
    ("sfq.depth", "Its flow held {held}; the limit is {allowed}. A flow may not queue more."),
    (
        "sfq_codel.full_longest",
        "The queue held {held}; the limit is {allowed}. A full queue drops the newest packet of the bin \
         with the most packets.",
    ),
    // Schedulers of classes, shapers, and emulated networks.
    ("pfifo_fast.first_band", "No earlier band had a packet."),
    (
        "pfifo_fast.full_band",
        "The queue held {held}; the limit is {allowed}. A full band drops the packet that arrives.",
    ),
    ("prio.first_band", "It is in band {band}, and no earlier band could send a packet."),
    ("ets.strict_bands", "It is in band {band}, and no strict band before it could send a packet."),
    ("drr.covered", "Its class had a deficit of {deficit}, which covers the packet's {bytes:n}."),
    (
        "drr.rounds",
        "Its class had a deficit of {deficit}. Each round that ended with too few for the packet's \
         {bytes:n} added the quantum of {quantum:n}.",
    ),
    ("qfq.in_service", "Its aggregate of classes was in service and had budget for it."),
    (
        "qfq.earliest_finish",
        "The aggregate in service had spent its budget. Of those whose virtual start time had come, \
         that of this packet had about the earliest virtual finish time.",
    ),
    ("htb.direct", "No class takes it: it goes through the direct queue."),
    ("htb.own_rate", "Its class owed no tokens: it sent at its own rate."),
    ("htb.borrowed", "Its class owed tokens but no ctokens: it borrowed from a class above."),
    ("htb.above_ceil", "Its class was above its ceil until this moment."),
    ("tbf.oversize", "It has {bytes}. The bucket never holds tokens for more than {longest:n}."),
    ("tbf.tokens", "The bucket held enough tokens for it."),
    ("netem.lost", "The settings of the emulated network lose packets at random: this one."),
    ("netem.delayed", "The delay that the emulated network gave it was over."),
];
