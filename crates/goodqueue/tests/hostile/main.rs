//! Hostile inputs, told as tests. They are tried on every discipline that is registered, with
//! configurations found at the edges of its parameter table, under the supervision of
//! `goodqueue_testkit::check`: a new discipline is covered as soon as it is registered. What holds
//! for a discipline of some kind (one with a quantum, with a target and an interval, with classes)
//! is tried on those that have the parameter.
//!
//! | id | hostile input | test |
//! |---|---|---|
//! | H1 | limit 0 | `a_limit_of_zero_is_refused_or_lets_nothing_in` |
//! | H2 | limit 1 | `a_queue_for_one_packet_holds_one_packet` |
//! | H3 H4 | the largest limits; memory for 1 byte, a packet, one byte less | `memory_for_nothing_for_a_packet_and_for_everything` |
//! | H5 | quantum 0, 1, 255, MTU - 1, above 2^31; 1 and 65,536 flows | `every_quantum_works_with_one_flow_and_with_the_most` |
//! | H6 | MTU 0, 65,535, larger; segments of 64 and 256 KiB | `every_mtu_and_every_rate_of_the_link_gives_valid_defaults` |
//! | H7 | flows 0, 1, 2, 3, too many | `no_flows_and_more_flows_than_can_be_numbered_are_refused` |
//! | H8 | tables of 0 or 1 entry | `tables_of_zero_or_one_entry_are_refused_or_work` |
//! | H9 | derived limits: every company of 0, 1, 2 | `every_company_of_the_smallest_numbers_is_refused_or_works` |
//! | H10 | target and interval 0, equal, swapped, 1 ns, largest | `every_target_and_interval_is_refused_or_works` |
//! | H11 H17 | `ce_threshold` 0 and largest; RED's min, max, weight, `max_p` at their ends | `every_edge_of_every_parameter_and_all_of_them_together_survive_an_ordeal` |
//! | H12 | `tupdate` 0, 1 ns, a day | `an_update_period_of_nothing_is_refused_and_any_other_is_caught_up_with` |
//! | H13 H16 | gains and fractions: negative, above 1, NaN, infinite | `fractions_below_zero_above_one_and_no_numbers_are_refused`; text: goodqueue-tc, `units` |
//! | H14 | rate 0, 1 bit/s, 1 Tbit/s, the largest | `every_rate_is_refused_or_works_and_none_is_divided_by`; links: goodqueue-sim `a_link_that_never_works_sends_nothing_and_ends` |
//! | H15 | a packet larger than the bucket | `a_packet_larger_than_the_bucket_is_dropped_and_nobody_waits_behind_it` |
//! | H18 | swapped clamps | `a_range_in_the_parameter_table_is_the_range_that_is_accepted`, `what_is_in_force_reads_back_in_every_case` |
//! | H19 | unknown, doubled, misspelt keys; bytes that are no text; nested tables | goodqueue-tc's and goodqueue-scenario's tests; fuzz targets `scenario` and `tc_line` |
//! | H20 | the clock goes back | `a_clock_that_goes_back_counts_as_one_that_stands_still` |
//! | H21 | the clock stands still | `time_may_stand_still_for_ever` |
//! | H22 | the first call at 0, at the end of time, shortly before | `the_first_call_may_come_at_the_beginning_at_the_end_and_just_before_it` |
//! | H23 | an hour, a day, 585 years between calls with many packets queued | `after_585_years_a_full_queue_empties_and_every_call_ends` |
//! | H24 | sojourn a nanosecond below, at, above the target | `packets_that_all_came_at_once_and_left_a_nanosecond_below_the_target_are_not_dropped`; exact drops: unit tests in `codel.rs` |
//! | H25 | 32-bit clocks wrap | `clocks_of_32_bits_may_wrap` |
//! | H26 | a call per hour | `a_caller_who_comes_once_an_hour_misses_nothing` |
//! | H27 | `next_event` in the past, missed, polled | I9 after every operation; `who_asks_all_the_time_gets_the_same_as_who_comes_at_the_appointed_time` |
//! | H28 | suspend and clock steps of a live machine | the clock is an argument (H20, H23); of the live path: H84 in goodqueue-cli, `tests/live/faults.rs` |
//! | H29 | rounding of serialization | `serialization_is_exact_for_every_rate_that_a_nanosecond_can_show`; goodqueue-sim `hostile` |
//! | H30 | events at the same instant | goodqueue-sim `hostile` and `events` |
//! | H31 | CoDel's count jumps and wraps | `jumps_of_the_drop_count_by_1_3_64_and_a_million_leave_a_working_queue`; the arithmetic: `codel.rs` |
//! | H32 | 2^32 packets | counters are 64 bits wide by type (`Count`); bytes cross 2^32 in H33 |
//! | H33 | backlog above 4 GiB | `a_backlog_beyond_4_gib_is_counted_right` |
//! | H34 | packets of 0, 1, 65,535, 2^32 - 1 bytes | `a_flow_of_empty_packets_does_not_keep_another_flow_waiting_for_ever`, `no_dequeue_goes_round_by_round_to_a_packet_of_many_quanta` |
//! | H35 | deficits at the ends of their range | `the_largest_quantum_and_the_largest_packets_overflow_nothing` |
//! | H36 H38 | shifts of averages, accumulated probability | `a_probability_held_at_its_end_for_long_does_not_overflow` |
//! | H37 | probability 0 and 1 | `a_loss_of_nothing_loses_nothing_and_a_loss_of_everything_everything` |
//! | H39 | statistics across a reset | `statistics_never_go_back`; the run's own subtraction: goodqueue-sim |
//! | H40 | NaN in percentiles | goodqueue-scenario's tests of `measure`; no discipline reports a float |
//! | H41 | tenfold overload of 1,024 flows | `a_tenfold_overload_of_a_thousand_flows_is_only_lost_packets` |
//! | H42 | a flood of new flows | `a_flood_of_flows_of_one_packet_does_not_starve_an_old_flow` |
//! | H43 | all flows in one bucket | `all_flows_in_one_bucket_are_one_flow_and_nothing_worse` |
//! | H44 | a fat flow of small packets | `the_fattest_flow_is_the_one_with_the_most_bytes_not_the_most_packets` |
//! | H45 H46 | flows just below a quantum, flows in turns | `flows_just_below_a_quantum_and_flows_in_turns_leave_room_for_a_bulk_flow` |
//! | H47 | ECN-capable packets only | `marks_alone_do_not_stop_a_flood_of_ecn_capable_packets_so_packets_are_dropped` |
//! | H48 | malformed IP packets | this crate parses no packet: the caller says length, ECN field and flow |
//! | H49 | memory above the limit | `no_allocation.rs` beside this folder |
//! | H50 | log lines under attack | the crate writes no log |
//! | H51 | reconfigured while full | `a_full_queue_may_become_anything_and_back`, `a_queue_beyond_its_new_limit_only_shrinks_and_is_accounted_for` |
//! | H52 | invalid reconfiguration | `a_refused_configuration_names_its_parameter`: it fails before there is anything to hand to a queue |
//! | H53 | purged when full, empty, twice | `a_purge_may_come_when_full_when_empty_and_twice` |
//! | H54 | replaced, classes removed with packets in them | `any_discipline_may_take_the_place_of_any_other_with_packets_queued`, `a_tree_may_lose_its_branches_while_they_are_full` |
//! | H55 H56 | children that drop what they reported, or wait | `every_discipline_works_inside_every_other` |
//! | H57 | duplicates of duplicates | a `Packet` is not `Clone`, so no discipline can duplicate; loss and order are under H37 and I4 |
//! | H58 | depth 16, fan-out 8,191 | `a_tower_of_sixteen_disciplines_stands`, `a_discipline_with_8_191_classes_finds_each_of_them` |
//! | H59 | the link stops and comes back | goodqueue-sim `theory` and `hostile` |
//! | H60 | one packet enqueued twice | packets are moved: it does not compile |
//! | H61 | a drop sink that calls back | the queue is borrowed mutably during the call: it does not compile |
//! | H62 | a copy goes on as its original | `a_copy_made_at_any_time_goes_on_as_its_original` |

#![allow(missing_docs)]

mod configuration;
mod counters;
mod life_cycle;
mod load;
mod story;
mod time;

#[test]
fn the_table_names_tests_that_exist() {
    let sources = [
        include_str!("configuration.rs"),
        include_str!("counters.rs"),
        include_str!("life_cycle.rs"),
        include_str!("load.rs"),
        include_str!("time.rs"),
    ]
    .join("\n");
    let table: Vec<&str> =
        include_str!("main.rs").lines().filter(|line| line.starts_with("//! | H")).collect();
    for id in 1..=62 {
        let named = table.iter().any(|row| {
            row.split('|').nth(1).is_some_and(|ids| ids.split(' ').any(|one| one == format!("H{id}")))
        });
        assert!(named, "H{id} is not in the table");
    }
    // No other word of the table has as many underscores as the name of a test.
    for name in table.iter().flat_map(|row| row.split('`')).filter(|word| word.matches('_').count() > 4) {
        let elsewhere = name == "a_link_that_never_works_sends_nothing_and_ends";
        assert!(elsewhere || sources.contains(&format!("fn {name}()")), "there is no test {name}");
    }
}
