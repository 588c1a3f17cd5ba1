//! A configuration as a line of tc's grammar.

use goodqueue::config::{Child, Children, Kind, Settings, Unit, Value};
use goodqueue::registry::KINDS;

use super::settings::group_of;

/// Writes a discipline with its parameters and the disciplines in it.
pub(super) fn write_tree(kind: &Kind, settings: &Settings) -> String {
    let mut line = write_settings(kind, settings);
    write_children(kind, settings.children(), 0, &mut line);
    line
}

fn write_children(kind: &Kind, children: &[Child], parent: u32, line: &mut String) {
    for child in children.iter().filter(|child| child.parent == parent) {
        let inner = child.qdisc.as_ref().and_then(|(name, settings)| {
            // `KINDS` does not have disciplines of other crates.
            let own = settings.owner().map(|owner| owner.kind());
            let inner = own.or_else(|| KINDS.iter().find(|kind| kind.name == *name))?;
            Some(write_tree(inner, settings))
        });
        line.push_str(" [");
        if let Children::Classes(parameters) = kind.children {
            let class = Kind { parameters, variants: &[], ..*kind };
            line.push_str(&number(child.class));
            line.push_str(
                write_settings(&class, &child.settings).strip_prefix(kind.name).unwrap_or_default(),
            );
            // Class 0 would be a class below itself, because 0 also stands for no parent.
            if child.class != parent {
                write_children(kind, children, child.class, line);
            }
        } else if kind.children == Children::Bands {
            line.push_str(&number(child.class));
        }
        if let Some(inner) = inner {
            line.push_str(if kind.children == Children::One { "" } else { ": " });
            line.push_str(&inner);
        }
        line.push(']');
    }
}

pub(super) fn write_settings(kind: &Kind, settings: &Settings) -> String {
    let mut line = kind.name.to_owned();
    let mut group = "";
    for (name, value) in settings.iter() {
        let parameter = kind.parameters.iter().find(|parameter| parameter.name == name);
        let word = match (&value, parameter.map(|parameter| parameter.unit)) {
            (Value::Flag(true), _) => name.to_owned(),
            (Value::Flag(false), Some(Unit::Flag { off: Some(off) })) => off.to_owned(),
            // A flag without a word for "off" is off if it is absent.
            (Value::Flag(false), _) => continue,
            (value, unit) => {
                let written = unit.map_or_else(|| value.to_string(), |unit| unit.written(value));
                // Such a value has no name and follows another one: `delay 10ms 5ms`.
                if name.contains('.') {
                    written
                } else {
                    let known = if group == group_of(name) { name.strip_prefix(group) } else { None };
                    group = group_of(name);
                    format!("{} {written}", known.unwrap_or(name).trim_start())
                }
            }
        };
        line.push(' ');
        line.push_str(&word);
    }
    line
}

/// The number of a class as tc writes it.
fn number(class: u32) -> String {
    format!("{class:x}")
}
