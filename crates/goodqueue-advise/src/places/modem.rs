//! A line behind a modem: the modem and the head end hold the queues, and the router shapes at its
//! port to the modem.

use std::fmt::Write as _;
use std::path::Path;

use goodqueue::Rate;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::advice::Advice;
use crate::model::Model;
use crate::place::Place;
use crate::port_rate::port_rate;
use crate::question::Question;
use crate::words::milliseconds;

/// A modem and a head end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Modem;

impl Place for Modem {
    fn check(&self, _: &Question) -> Result<(), Diagnostic> {
        Ok(())
    }

    fn links(&self, model: &Model<'_>, seed: u64) -> String {
        let question = model.question;
        let port = port_rate(question);
        format!(
            "[link]\ndown = '{port}'\nup = '{port}'\nrtt = '{}ns'\nmtu = {}\n\n[[hops]]\nname = 'modem'\nside = 'server'\n{}",
            question.rtt.as_nanos(),
            question.kind.mtu,
            line(model, seed)
        )
    }

    fn reason(&self, question: &Question, advice: &Advice, without_s: f64) -> String {
        let (today, advised) = (&advice.today, &advice.advised);
        if question.varies() {
            return "The rate of this line changes, so a fixed shaper is too slow most of the time. A shaper that \
                    follows the line, such as cake-autorate, wastes less."
                .to_owned();
        }
        if without_s > advised.latency_s.max + CLEAR_S {
            return format!(
                "The shaper moves the queue from the modem, which does not manage it, to the router, which does. \
                 Without the overhead of the line in the settings, the modem's queue fills again: pings take {} \
                 longer.",
                milliseconds(without_s)
            );
        }
        if today.latency_s.mean - advised.latency_s.mean > 0.0 {
            "The shaper moves the queue from the modem, which does not manage it, to the router, which does."
                .to_owned()
        } else {
            "The buffers of this line are small.".to_owned()
        }
    }
}

/// Returns the rates and buffers of the line.
fn line(model: &Model<'_>, seed: u64) -> String {
    let question = model.question;
    let mut text = String::new();
    let fifo = |side: usize| question.kind.buffer.line(model.buffers[side]);
    // Writing to a string cannot fail.
    if let Some(traces) = &question.traces {
        let path = |path: &Path| toml_text(&path.display().to_string());
        let _ = writeln!(
            text,
            "down = {{ trace = {} }}\nup = {{ trace = {} }}\nqdisc = {{ down = '{}', up = '{}' }}",
            path(&traces.down),
            path(&traces.up),
            fifo(0),
            fifo(1)
        );
    } else if question.kind.varies() {
        let seconds = model.span.total();
        let rate = |side: usize| {
            let mean = question.rates[side].as_bps();
            question.kind.variation.rate(mean, seconds, seed * 2 + side as u64)
        };
        let _ = writeln!(
            text,
            "down = {}\nup = {}\nqdisc = {{ down = '{}', up = '{}' }}",
            rate(0),
            rate(1),
            fifo(0),
            fifo(1)
        );
    } else {
        let line = |side: usize| {
            let encapsulation = &question.kind.encapsulation;
            let real = question.kind.modelled(question.rates[side]);
            let rate = Rate::from_bps(encapsulation.usable(real.as_bps() * model.slower / 1000));
            format!(
                "tbf rate {}bit burst 1600 limit {}{}",
                rate.as_bps(),
                model.buffers[side],
                encapsulation.shaper()
            )
        };
        let _ = writeln!(text, "qdisc = {{ down = '{}', up = '{}' }}", line(0), line(1));
    }
    text
}

/// Returns text as a value in a scenario file.
fn toml_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A difference that somebody feels.
const CLEAR_S: f64 = 0.020;
