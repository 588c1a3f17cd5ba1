//! H51 to H58, H62: changed while full, emptied, replaced, put into each other, copied.

use goodqueue::config::{Child, Children, Value};
use goodqueue::registry::KINDS;
use goodqueue::{AnyConfig, DropReason, Duration, Instant, Link, Qdisc, Settings};
use goodqueue_testkit::edge::{accepted, cases, default_config, holding, trees};
use goodqueue_testkit::operation::Operation;

use crate::story::{Story, everywhere, in_every_variant, ms, roomy};
use crate::time::{bare, packet};

fn fill(story: &mut Story) {
    fill_with(story, 120);
}

fn fill_with(story: &mut Story, packets: u32) {
    for number in 0..packets {
        story.offers_ect(number % 9, [1514, 64, 3_000][number as usize % 3]);
        if number % 10 == 0 {
            story.waits(ms(8));
            story.sends();
        }
    }
}

// H51
#[test]
fn a_full_queue_may_become_anything_and_back() {
    for kind in KINDS {
        let full = roomy(kind);
        for case in cases(kind) {
            let mut story = Story::new(format!("roomy {} becomes {}", kind.name, case.name), full.clone());
            fill_with(&mut story, 60);
            story.becomes(&case.config);
            fill_with(&mut story, 40);
            story.becomes(&full);
            story.sends();
            story.empties();
        }
    }
}

// H51
#[test]
fn a_queue_beyond_its_new_limit_only_shrinks_and_is_accounted_for() {
    let mut told = 0;
    for kind in KINDS {
        let Some(small) = [Value::Packets(5), Value::Bytes(5_000)].into_iter().find_map(|limit| {
            accepted(kind, &Settings::new().with("limit", limit.clone()))
                .filter(|config| config.to_settings().get("limit") == Some(limit))
        }) else {
            continue;
        };
        told += 1;
        let mut story = Story::roomy(kind);
        fill(&mut story);
        let before = story.len();
        let outcome = story.becomes(&small);
        assert_eq!(story.len() + outcome.dropped.len(), before, "{}", kind.name);
        let left = story.len();
        fill_with(&mut story, 40);
        assert!(story.len() <= left.max(80), "{}: {left}, then {} queued", kind.name, story.len());
        story.empties();
    }
    assert!(told > 3);
}

// H52: a configuration that exists is valid, so a wrong one fails before any queue is touched.
#[test]
fn a_refused_configuration_names_its_parameter() {
    for kind in KINDS {
        for parameter in kind.parameters {
            for value in goodqueue_testkit::edge::values(parameter.unit) {
                let settings = Settings::new().with(parameter.name, value);
                let Some(Err(error)) = AnyConfig::from_settings(kind.name, &settings, &Link::default())
                else {
                    continue;
                };
                assert!(!error.parameter.is_empty() && !error.allowed.is_empty(), "{}: {error}", kind.name);
            }
        }
    }
}

// H53
#[test]
fn a_purge_may_come_when_full_when_empty_and_twice() {
    everywhere(|_, case| {
        let mut story = Story::of(case);
        assert!(story.purges().dropped.is_empty(), "{}", case.name);
        fill(&mut story);
        let held = story.len();
        let gone = story.purges();
        assert_eq!(gone.dropped.len(), held, "{}", case.name);
        assert!(gone.dropped.iter().all(|(_, why)| *why == DropReason::Purged), "{}", case.name);
        assert!(story.purges().dropped.is_empty(), "{}", case.name);
        assert_eq!(story.sends(), None, "{}", case.name);
        fill_with(&mut story, 30);
        story.empties();
    });
}

// H54
#[test]
fn any_discipline_may_take_the_place_of_any_other_with_packets_queued() {
    for from in KINDS {
        for to in KINDS.iter().filter(|to| to.name != from.name) {
            let mut queue = bare(roomy(from));
            for number in 0..50 {
                queue.enqueue(Instant::ZERO, packet(number, 1514), &mut |_, _| ());
            }
            let held = queue.len();
            let mut purged = 0;
            queue.reconfigure(Instant::ZERO, default_config(to), &mut |_, why| {
                assert_eq!(why, DropReason::Purged);
                purged += 1;
            });
            let name = format!("{} becomes {}", from.name, to.name);
            assert_eq!((purged, queue.len(), queue.backlog()), (held, 0, 0), "{name}");
            assert_eq!(queue.config().kind().name, to.name);
            queue.enqueue(Instant::ZERO, packet(50, 64), &mut |_, _| ());
            assert_eq!(queue.stats().offered.packets, 1, "{name}");
        }
    }
}

// H55 H56: a child that drops all it has when asked, or has packets but not now, below every
// parent.
#[test]
fn every_discipline_works_inside_every_other() {
    for tree in trees(4) {
        let mut story = Story::of(&tree);
        fill_with(&mut story, 40);
        story.waits(ms(200));
        fill_with(&mut story, 10);
        story.empties();
    }
}

// H54 H55
#[test]
fn a_tree_may_lose_its_branches_while_they_are_full() {
    for tree in trees(2) {
        let kind = tree.config.kind();
        let plain = default_config(&kind);
        let mut story = Story::new(format!("{} loses its branches", tree.name), tree.config.clone());
        fill_with(&mut story, 20);
        story.becomes(&plain);
        fill_with(&mut story, 20);
        story.becomes(&tree.config);
        fill_with(&mut story, 20);
        story.empties();
    }
}

// H58
#[test]
fn a_tower_of_sixteen_disciplines_stands() {
    for parent in KINDS.iter().filter(|kind| kind.children != Children::None) {
        let mut tower = Settings::new();
        for _ in 0..16 {
            match holding(parent, parent.name, &tower) {
                Some(higher) => tower = higher,
                None => break,
            }
        }
        let Some(config) = accepted(parent, &tower) else { continue };
        let mut story = Story::new(format!("sixteen {}", parent.name), config);
        for number in 0..30 {
            story.offers(number % 3, 1514);
            story.waits(ms(2));
            story.sends();
        }
        story.empties();
    }
}

// H58
#[test]
fn a_discipline_with_8_191_classes_finds_each_of_them() {
    const CLASSES: u32 = 8_191;
    for parent in KINDS.iter().filter(|kind| matches!(kind.children, Children::Classes(_))) {
        let Some(pattern) = holding(parent, "pfifo", &Settings::new()) else { continue };
        let own = pattern.children().first().map(|child| child.settings.clone()).unwrap_or_default();
        let mut settings = Settings::new();
        for class in 1..=CLASSES {
            settings.add_child(Child { class, parent: 0, settings: own.clone(), qdisc: None });
        }
        // Some have room for fewer numbers: that must be said, not crash.
        let Some(config) = accepted(parent, &settings) else { continue };
        let mut queue = bare(config);
        for (number, class) in [1, 2, 77, CLASSES / 2, CLASSES].into_iter().enumerate() {
            let mut one = packet(number as u64, 1514);
            one.class = Some(class);
            queue.enqueue(Instant::ZERO, one, &mut |_, _| ());
        }
        let mut seen = Vec::new();
        let mut now = Instant::ZERO;
        while !queue.is_empty() && seen.len() < 10 {
            seen.extend(queue.dequeue(now, &mut |_, _| ()).map(|packet| packet.id));
            now += Duration::from_secs(1);
        }
        // In which order is the scheduler's business.
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3, 4], "{}", parent.name);
    }
}

// H62
#[test]
fn a_copy_made_at_any_time_goes_on_as_its_original() {
    let story = |name: &str, config: &AnyConfig| {
        let mut story = Story::new(name, config.clone());
        fill_with(&mut story, 30);
        // From here on every operation is done to both, and compared.
        story.does(&Operation::Snapshot);
        fill_with(&mut story, 30);
        story.does(&Operation::Restore);
        fill_with(&mut story, 30);
        story.empties();
    };
    in_every_variant(|_, case| story(&case.name, &case.config));
    for tree in trees(2) {
        story(&tree.name, &tree.config);
    }
}
