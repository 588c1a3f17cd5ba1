//! Trees of disciplines: brackets in one line, or a script of tc commands.
//!
//! From the words of the commands ([`super::commands`]) a [`Tree`] is made, and a configuration
//! from it, leaves first.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::slice::Iter;

use goodqueue::config::{Child, Children, Kind, Link, Settings, Value};
use goodqueue::registry::{self, AnyConfig, Preset, find_preset};
use goodqueue::{Disciplines, Rate};

use super::commands::Command;
use super::settings::{
    VARIANT, Word, all_names, find_kind, no_such_discipline, read_settings, refused,
    switch_off_what_is_not_shown, tc_class, without_only_shown, without_value,
};
use crate::diagnostic::{Diagnostic, shortened, unknown};

/// Disciplines and what they hold.
pub(super) struct Tree<'a> {
    disciplines: &'a Disciplines,
    nodes: Vec<Node<'a>>,
    root: usize,
}

struct Node<'a> {
    name: Word<'a>,
    kind: &'static Kind,
    preset: Option<Preset>,
    settings: Settings,
    given: Vec<Word<'a>>,
    /// The major number.
    handle: Option<u32>,
    children: Vec<Slot<'a>>,
}

/// A band or class.
struct Slot<'a> {
    class: u32,
    parent: u32,
    settings: Settings,
    given: Vec<Word<'a>>,
    at: Word<'a>,
    node: Option<usize>,
}

/// Where a command attaches something.
#[derive(Default)]
struct Place<'a> {
    root: bool,
    parent: Option<Word<'a>>,
    handle: Option<Word<'a>>,
    class: Option<Word<'a>>,
}

/// The tree that `commands`, from a text of `length` bytes, build of `disciplines` for a link of
/// this `rate`.
pub(super) fn tree<'a>(
    commands: &'a [Command],
    length: usize,
    disciplines: &'a Disciplines,
    rate: Rate,
) -> Result<Tree<'a>, Diagnostic> {
    let mut builder = Builder { disciplines, rate, nodes: Vec::new(), root: None, shown: false };
    for (index, command) in commands.iter().enumerate() {
        let words: Vec<Word<'_>> = command
            .iter()
            .map(|token| Word { text: &token.text, start: token.place.start, end: token.place.end })
            .collect();
        builder.command(&words, index == 0)?;
    }
    let Some(root) = builder.root else {
        return Err(Diagnostic::new("no queue discipline is given")
            .at(0..length)
            .allowed(all_names(disciplines).join(", ")));
    };
    Ok(Tree { disciplines, nodes: builder.nodes, root })
}

struct Builder<'a> {
    disciplines: &'a Disciplines,
    /// Of the link, for percentages.
    rate: Rate,
    nodes: Vec<Node<'a>>,
    root: Option<usize>,
    /// The text is what `tc qdisc show` printed.
    shown: bool,
}

impl<'a> Builder<'a> {
    fn command(&mut self, words: &[Word<'a>], first: bool) -> Result<(), Diagnostic> {
        let mut rest = words;
        let mut command_of_tc = false;
        // Scripts call tc by its path or through a variable, and with options such as `-s`.
        while let Some((word, after)) = rest.split_first()
            && (matches!(word.text, "sudo" | "tc" | "$TC" | "$tc")
                || word.text.ends_with("/tc")
                || word.text.starts_with('-'))
        {
            command_of_tc |= word.text != "sudo";
            rest = after;
        }
        let Some((object, after)) = rest.split_first() else { return Ok(()) };
        let verb = after.first().map_or("", |word| word.text);
        let behind = after.get(1..).unwrap_or_default();
        match (object.text, verb) {
            ("class", "del" | "delete") => self.remove_class(behind),
            // Scripts delete first what was on their device. Here nothing is.
            ("qdisc" | "class", "del" | "delete" | "show" | "ls" | "list") => Ok(()),
            ("qdisc", verb) if VERBS.contains(&verb) => {
                let (place, rest) = place(behind)?;
                match self.present(&place).filter(|_| verb == "change") {
                    Some(index) => self.change(index, rest),
                    None => self.attach(&place, rest, false),
                }
            }
            ("class", verb) if VERBS.contains(&verb) => self.add_class(behind, verb != "add"),
            // As `tc qdisc show` prints it: the name first, perhaps followed by statistics.
            ("qdisc", _) => {
                self.shown = true;
                let Some((name, rest)) = after.split_first() else { return Ok(()) };
                let handle = rest.first().filter(|word| word.text.ends_with(':'));
                let (mut place, rest) = place(rest.get(usize::from(handle.is_some())..).unwrap_or_default())?;
                // `tc qdisc show` prints the handle right behind the name, without the word
                // `handle`.
                place.handle = place.handle.or(handle.copied());
                // A line that was pasted alone is the root, even if tc printed the class that it is
                // in.
                place.root |= place.parent.is_none() || first;
                // `tc -s` prints statistics behind the parameters, as in `Sent 4416910 bytes 4241
                // pkt`.
                let end = rest.iter().position(|word| word.text == "Sent").unwrap_or(rest.len());
                let given = without_only_shown(name.text, &rest[..end]);
                let words: Vec<Word<'a>> = std::iter::once(*name).chain(given).collect();
                self.attach(&place, &words, true)
            }
            ("filter", _) => Err(Diagnostic::new(
                "filters cannot be evaluated: a flow chooses its class by itself",
            )
            .at(object.span())
            .help("remove the filters; `htb default`, or a hash over the classes, takes what chooses none")),
            // Only the first line may be a bare discipline. Later ones are other commands of the
            // script.
            _ if first && !command_of_tc => {
                self.attach(&Place { root: true, ..Place::default() }, rest, false)
            }
            // Behind a line of `tc -s qdisc show` come lines of statistics.
            _ if self.shown || OTHER_COMMANDS.contains(&object.text) => Ok(()),
            (other, _) => Err(unknown("the tc command", other, &["qdisc", "class"]).at(object.span())),
        }
    }

    fn attach(&mut self, place: &Place<'a>, words: &[Word<'a>], shown: bool) -> Result<(), Diagnostic> {
        if words.is_empty() {
            return match place.parent.or(place.handle) {
                Some(word) => Err(Diagnostic::new("no queue discipline is given")
                    .at(word.span())
                    .allowed(all_names(self.disciplines).join(", "))),
                // Without a word to point at, `tree` tells that no discipline is given.
                None => Ok(()),
            };
        }
        let mut cursor = Cursor { words: words.iter().peekable(), last: words[words.len() - 1] };
        let index = self.read(&mut cursor, 1)?;
        if let Some(word) = cursor.words.next() {
            return Err(Diagnostic::new(format!(
                "`{}` stands behind the end of the discipline",
                shortened(word.text)
            ))
            .at(word.span()));
        }
        let handle = place.handle.map(|word| number(word, word.text.trim_end_matches(':'))).transpose()?;
        if let Some(node) = self.nodes.get_mut(index) {
            node.handle = handle;
            if shown {
                switch_off_what_is_not_shown(node.kind, &mut node.settings);
            }
        }
        // The first discipline is the root, even if its command names a parent.
        let Some(parent) = place.parent.filter(|_| self.root.is_some() && !place.root) else {
            self.root = Some(index);
            return Ok(());
        };
        let (owner, minor) = self.find(parent)?;
        // The last discipline with the handle of `parent` is the new one itself. Linux refuses a
        // handle that another discipline has.
        if owner == index {
            let name = self.nodes[index].kind.name;
            return Err(Diagnostic::new(format!("{name} has the handle of its parent"))
                .at(place.handle.unwrap_or(parent).span())
                .allowed("a handle that no other discipline has")
                .help("give the discipline a handle of its own, or remove `handle`"));
        }
        let owner = &mut self.nodes[owner];
        match owner.kind.children {
            Children::None => return Err(holds_none(owner.kind, parent)),
            // Another discipline takes the place of the inner one. Linux gives the only class the
            // number 1.
            Children::One => {
                let settings = Settings::new();
                let slot =
                    Slot { class: 1, parent: 0, settings, given: Vec::new(), at: parent, node: Some(index) };
                owner.children = vec![slot];
            }
            Children::Bands | Children::Classes(_) => {
                let slot = owner.children.iter_mut().find(|slot| slot.class == minor);
                match slot {
                    Some(slot) => slot.node = Some(index),
                    // Bands exist from the beginning, and classes must be added.
                    None if owner.kind.children == Children::Bands => owner.children.push(Slot {
                        class: minor,
                        parent: 0,
                        settings: Settings::new(),
                        given: Vec::new(),
                        at: parent,
                        node: Some(index),
                    }),
                    None => {
                        return Err(Diagnostic::new(format!("{} has no class {minor:x}", owner.kind.name))
                            .at(parent.span())
                            .help("add it before, with `tc class add`"));
                    }
                }
            }
        }
        Ok(())
    }

    /// The discipline at `place`, if there is one.
    fn present(&self, place: &Place<'a>) -> Option<usize> {
        let Some(parent) = place.parent.filter(|_| !place.root) else { return self.root };
        let (owner, minor) = self.find(parent).ok()?;
        let owner = &self.nodes[owner];
        let holds_one = owner.kind.children == Children::One;
        owner.children.iter().find(|slot| holds_one || slot.class == minor)?.node
    }

    /// `tc qdisc change`: parameters that are not given stay, if Linux keeps them.
    fn change(&mut self, index: usize, words: &[Word<'a>]) -> Result<(), Diagnostic> {
        let Some((name, given)) = words.split_first() else { return Ok(()) };
        let node = &mut self.nodes[index];
        // Linux refuses this, too.
        if name.text != node.kind.name {
            return Err(Diagnostic::new(format!(
                "`{}` is here, not `{}`",
                node.kind.name,
                shortened(name.text)
            ))
            .at(name.span())
            .help("a discipline takes the place of another one with `tc qdisc replace`"));
        }
        let changed = read_settings(node.kind, given, self.rate)?;
        let settings = overlaid(node.kind, &node.settings, &changed);
        if let (Children::Bands, Some(Value::Integer(bands))) = (node.kind.children, settings.get("bands")) {
            // Linux removes the disciplines of bands that a change takes away.
            node.children.retain(|slot| u64::from(slot.class) <= bands);
        }
        node.settings = settings;
        node.given = given.to_vec();
        let kind = node.kind;
        let inner = node.children.first().and_then(|slot| slot.node);
        if let Some(inner) = inner.and_then(|inner| self.nodes.get_mut(inner))
            && let Some((name, value)) = registry::handed_down(kind.name, inner.kind.name, &changed)
        {
            inner.settings.set(name, value);
        }
        Ok(())
    }

    /// `tc class del` of a known class. A script may also delete unknown classes first, to make
    /// room.
    fn remove_class(&mut self, words: &[Word<'a>]) -> Result<(), Diagnostic> {
        let (place, _) = place(words)?;
        let Some((owner, minor)) = place.class.and_then(|class| self.find(class).ok()) else { return Ok(()) };
        self.nodes[owner].children.retain(|slot| slot.class != minor);
        Ok(())
    }

    fn add_class(&mut self, words: &[Word<'a>], replace: bool) -> Result<(), Diagnostic> {
        let (place, rest) = place(words)?;
        let lacks = |what: &str| {
            let at = words.first().map_or(0..0, Word::span);
            Diagnostic::new(format!("the class has no {what}"))
                .at(at)
                .allowed("tc class add dev DEV parent 1: classid 1:1 KIND PARAMETERS")
        };
        let parent = place.parent.ok_or_else(|| lacks("`parent`"))?;
        let class = place.class.ok_or_else(|| lacks("`classid`"))?;
        let (owner, above) = self.find(parent)?;
        let owner = &mut self.nodes[owner];
        let Children::Classes(parameters) = owner.kind.children else {
            return Err(Diagnostic::new(format!("{} has no classes", owner.kind.name)).at(parent.span()));
        };
        let minor = number(class, class.text.split_once(':').map_or(class.text, |split| split.1))?;
        let given = match rest.split_first() {
            Some((name, given)) if name.text == owner.kind.name => given,
            Some((name, _)) => {
                return Err(Diagnostic::new(format!("the class is of `{}`", shortened(name.text)))
                    .at(name.span())
                    .allowed(format!("`{}`, as the discipline that it belongs to", owner.kind.name)));
            }
            None => return Err(lacks("kind")),
        };
        let kind = Kind { parameters, variants: &[], ..*owner.kind };
        let settings = read_settings(&kind, given, self.rate)?;
        let given = given.to_vec();
        match owner.children.iter_mut().find(|slot| slot.class == minor) {
            Some(slot) if replace => {
                slot.settings = overlaid(owner.kind, &slot.settings, &settings);
                (slot.given, slot.parent) = (given, above);
            }
            Some(_) => {
                return Err(Diagnostic::new(format!(
                    "class {minor:x} of {} is added twice",
                    owner.kind.name
                ))
                .at(class.span())
                .help("remove one of the two"));
            }
            None => {
                owner.children.push(Slot {
                    class: minor,
                    parent: above,
                    settings,
                    given,
                    at: class,
                    node: None,
                });
            }
        }
        Ok(())
    }

    /// The discipline and the class that `word`, `1:10` for instance, means.
    fn find(&self, word: Word<'a>) -> Result<(usize, u32), Diagnostic> {
        let (major, minor) = word.text.split_once(':').unwrap_or((word.text, ""));
        let major = number(word, major)?;
        let minor = if minor.is_empty() { 0 } else { number(word, minor)? };
        // The last one: it may have taken the handle of an earlier discipline that it replaces.
        let with_handle = self.nodes.iter().rposition(|node| node.handle == Some(major));
        // A root without a handle takes any: the header of a recording names it so, and its
        // commands say `parent 1:1`.
        let nameless =
            || self.root.filter(|&root| self.nodes.get(root).is_some_and(|node| node.handle.is_none()));
        match with_handle.or_else(nameless) {
            Some(index) => Ok((index, minor)),
            None => {
                let handles: Vec<String> = self
                    .nodes
                    .iter()
                    .filter_map(|node| node.handle)
                    .map(|handle| format!("{handle:x}:"))
                    .collect();
                let message =
                    Diagnostic::new(format!("no discipline has the handle {major:x}:")).at(word.span());
                Err(if handles.is_empty() {
                    message.help("add the discipline before, with `tc qdisc add`")
                } else {
                    message.allowed(handles.join(", "))
                })
            }
        }
    }

    /// A discipline with its parameters and what it has in brackets.
    fn read(&mut self, cursor: &mut Cursor<'a, '_>, depth: usize) -> Result<usize, Diagnostic> {
        let Some(&name) = cursor.words.next().filter(|word| !is_mark(word)) else {
            return Err(Diagnostic::new("no queue discipline is given")
                .at(cursor.last.span())
                .allowed(all_names(self.disciplines).join(", ")));
        };
        if depth > DEEPEST {
            return Err(
                Diagnostic::new(format!("more than {DEEPEST} disciplines inside each other")).at(name.span())
            );
        }
        let preset = find_preset(name.text);
        let meant = preset.map_or(name, |preset| Word { text: preset.kind, ..name });
        let kind = find_kind(meant, self.disciplines.kinds())
            .map_err(|_| no_such_discipline(name, &all_names(self.disciplines)))?;
        let given = cursor.until_mark();
        let settings = read_settings(kind, &given, self.rate)?;
        let mut node = Node { name, kind, preset, settings, given, handle: None, children: Vec::new() };
        while let Some(&&open) = cursor.words.peek().filter(|word| word.text == "[") {
            match kind.children {
                Children::None => return Err(holds_none(kind, open)),
                Children::One => {
                    if !node.children.is_empty() {
                        return Err(
                            Diagnostic::new(format!("{} holds one discipline", kind.name)).at(open.span())
                        );
                    }
                    cursor.words.next();
                    let inner = Some(self.read(cursor, depth + 1)?);
                    cursor.close(open)?;
                    let settings = Settings::new();
                    node.children.push(Slot {
                        class: 1,
                        parent: 0,
                        settings,
                        given: Vec::new(),
                        at: open,
                        node: inner,
                    });
                }
                Children::Bands | Children::Classes(_) => self.read_class(cursor, &mut node, 0, depth)?,
            }
        }
        let mut known = BTreeSet::new();
        if let Some(again) = node.children.iter().find(|slot| !known.insert(slot.class)) {
            let what = if kind.children == Children::Bands { "band" } else { "class" };
            let class = again.class;
            return Err(Diagnostic::new(format!("{what} {class:x} of {} is given twice", kind.name))
                .at(again.at.span())
                .help("remove one of the two"));
        }
        self.nodes.push(node);
        Ok(self.nodes.len() - 1)
    }

    /// `[10 rate 2mbit [...] : qdisc]`.
    fn read_class(
        &mut self,
        cursor: &mut Cursor<'a, '_>,
        node: &mut Node<'a>,
        parent: u32,
        depth: usize,
    ) -> Result<(), Diagnostic> {
        let Some(&open) = cursor.words.next() else { return Ok(()) };
        // The classes of brackets nest within one discipline, so they are counted as well.
        if depth > DEEPEST {
            return Err(
                Diagnostic::new(format!("more than {DEEPEST} classes inside each other")).at(open.span())
            );
        }
        let Some(&at) = cursor.words.next().filter(|word| !is_mark(word)) else {
            return Err(without_value(open, "the number of a class or band, such as `1`"));
        };
        let class = tc_class(at.text).map_err(|error| error.at(at.span()))?;
        let given = cursor.until_mark();
        let parameters =
            if let Children::Classes(parameters) = node.kind.children { parameters } else { &[] };
        let kind = Kind { parameters, variants: &[], ..*node.kind };
        let settings = read_settings(&kind, &given, self.rate)?;
        node.children.push(Slot { class, parent, settings, given, at, node: None });
        let slot = node.children.len() - 1;
        while let Some(&&inner) = cursor.words.peek().filter(|word| word.text == "[") {
            if node.kind.children == Children::Bands {
                return Err(Diagnostic::new("a band has no classes").at(inner.span()));
            }
            self.read_class(cursor, node, class, depth + 1)?;
        }
        if cursor.words.next_if(|word| word.text == ":").is_some() {
            let inner = self.read(cursor, depth + 1)?;
            if let Some(slot) = node.children.get_mut(slot) {
                slot.node = Some(inner);
            }
        }
        cursor.close(open)
    }
}

/// `before`, changed as Linux changes it when tc gives `changed`.
fn overlaid(kind: &Kind, before: &Settings, changed: &Settings) -> Settings {
    // The variant is ours: no command of tc changes it.
    let kept = |name| name == VARIANT || registry::is_kept_by_change(kind.name, name, changed);
    let mut settings = Settings::new();
    for (name, value) in before.iter().filter(|(name, _)| kept(name)).chain(changed.iter()) {
        settings.set(name, value);
    }
    settings
}

/// The words still to read.
struct Cursor<'a, 'w> {
    words: Peekable<Iter<'w, Word<'a>>>,
    last: Word<'a>,
}

impl<'a> Cursor<'a, '_> {
    fn until_mark(&mut self) -> Vec<Word<'a>> {
        let mut given = Vec::new();
        while let Some(&word) = self.words.next_if(|word| !is_mark(word)) {
            given.push(word);
        }
        given
    }

    fn close(&mut self, open: Word<'a>) -> Result<(), Diagnostic> {
        match self.words.next() {
            Some(word) if word.text == "]" => Ok(()),
            Some(word) => {
                Err(Diagnostic::new(format!("`{}` instead of `]`", shortened(word.text))).at(word.span()))
            }
            None => Err(Diagnostic::new("the bracket is not closed").at(open.span())),
        }
    }
}

fn is_mark(word: &Word<'_>) -> bool {
    matches!(word.text, "[" | "]" | ":")
}

/// Reads the words that give the place of attachment.
fn place<'a, 'w>(mut words: &'w [Word<'a>]) -> Result<(Place<'a>, &'w [Word<'a>]), Diagnostic> {
    let mut place = Place::default();
    while let Some((word, after)) = words.split_first() {
        words = match word.text {
            "root" | "offloaded" => {
                place.root |= word.text == "root";
                after
            }
            "dev" | "parent" | "handle" | "refcnt" | "classid" => {
                let (value, rest) = after
                    .split_first()
                    .ok_or_else(|| without_value(*word, "what tc shows or takes there"))?;
                match word.text {
                    "parent" => place.parent = Some(*value),
                    "handle" => place.handle = Some(*value),
                    "classid" => place.class = Some(*value),
                    _ => {}
                }
                rest
            }
            _ => break,
        };
    }
    Ok((place, words))
}

fn number(word: Word<'_>, digits: &str) -> Result<u32, Diagnostic> {
    tc_class(digits).map_err(|error| error.at(word.span()))
}

fn holds_none(kind: &Kind, word: Word<'_>) -> Diagnostic {
    Diagnostic::new(format!("{} holds no other disciplines", kind.name)).at(word.span())
}

impl<'a> Tree<'a> {
    /// Returns the words behind the name of each discipline, and those of each of its classes.
    pub(super) fn given(
        &self,
    ) -> impl Iterator<Item = (&'static Kind, &[Word<'a>], impl Iterator<Item = &[Word<'a>]>)> {
        self.nodes.iter().map(|node| {
            let classes = node.children.iter().map(|slot| &slot.given[..]);
            (node.kind, &node.given[..], classes)
        })
    }

    /// The configuration, with this variant where there is one and none is given.
    pub(super) fn build(&self, link: &Link, variant: Option<&str>) -> Result<AnyConfig, Diagnostic> {
        self.build_node(self.root, link, variant, 1).map(|built| built.1)
    }

    fn build_node(
        &self,
        index: usize,
        link: &Link,
        variant: Option<&str>,
        depth: usize,
    ) -> Result<(Settings, AnyConfig), Diagnostic> {
        let node = &self.nodes[index];
        let kind = node.kind;
        let name = node.name;
        // A script attaches one level at a time: `read` does not see how deep it goes.
        if depth > DEEPEST {
            return Err(
                Diagnostic::new(format!("more than {DEEPEST} disciplines inside each other")).at(name.span())
            );
        }
        let mut settings =
            node.preset.map_or_else(|| node.settings.clone(), |preset| preset.with(&node.settings));
        settings = self.disciplines.claim(kind.name, settings);
        if let Some(chosen) = variant.and_then(|wanted| kind.variant_like(wanted))
            && settings.get(VARIANT).is_none()
        {
            settings.set(VARIANT, Value::Choice(chosen));
        }
        for slot in &node.children {
            let mut child = Child {
                class: slot.class,
                parent: slot.parent,
                settings: slot.settings.clone(),
                qdisc: None,
            };
            if let Some(inner) = slot.node {
                let (inner_settings, _) = self.build_node(inner, link, variant, depth + 1)?;
                child.qdisc = Some((self.nodes[inner].kind.name, inner_settings));
            }
            settings.add_child(child);
        }
        let whole =
            node.given.iter().fold(name.span(), |all, word| all.start.min(word.start)..all.end.max(word.end));
        match AnyConfig::from_settings(kind.name, &settings, link) {
            Some(Ok(config)) => Ok((settings, config)),
            Some(Err(error)) => {
                let slot =
                    error.class.and_then(|class| node.children.iter().find(|slot| slot.class == class));
                let Some(slot) = slot else { return Err(refused(kind, &error, &node.given).at(whole)) };
                let parameters = if let Children::Classes(list) = kind.children { list } else { &[] };
                let class = Kind { parameters, variants: &[], ..*kind };
                Err(refused(&class, &error, &slot.given).at(slot.at.span()))
            }
            None => Err(no_such_discipline(name, &all_names(self.disciplines))),
        }
    }
}

/// What may stand between `tc qdisc` and the place.
const VERBS: &[&str] = &["add", "change", "replace", "link"];
/// Other lines of such scripts.
const OTHER_COMMANDS: &[&str] = &["true", "modprobe", "ip", "ethtool", "set", "echo", "exit"];
/// Disciplines inside each other. Reading and building call themselves for each level, and must not
/// exhaust the stack.
const DEEPEST: usize = 16;
