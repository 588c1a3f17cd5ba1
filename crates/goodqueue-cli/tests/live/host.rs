//! Changes to a host, and their undoing. The "host" is a namespace of the test: the inside of a
//! shell.

use super::*;

/// A host with an interface `wan0` (203.0.113.2) to a server (203.0.113.1) in its own namespace.
/// Port 5001 of the server sends a million bytes to each client. The rest of a script runs on the
/// host; `$server` is a process in the server's namespace.
const HOST: &str = r#"set -e
    unshare --net sleep 600 & server=$!
    while [ "$(readlink /proc/$server/ns/net)" = "$(readlink /proc/$$/ns/net)" ]; do sleep 0.02; done
    ip link add wan0 type veth peer name peer0; ip link set peer0 netns $server
    nsenter -t $server --net sh -c 'ip link set lo up; ip addr add 203.0.113.1/24 dev peer0; ip link set peer0 up'
    ip link set goodqueue down
    ip addr add 203.0.113.2/24 dev wan0; ip link set wan0 up; ip route add default via 203.0.113.1
    nsenter -t $server --net env GOODQUEUE_TEST_ROLE='serve-all 203.0.113.1' $this --exact inside --quiet & serving=$!
    state() { ip -o addr | grep -v -e goodqueue -e fe80; ip route; ip -o -d link show wan0 | sed 's/ state [A-Z]*//; s/^[0-9]*: //'; \
        cat /proc/sys/net/ipv4/conf/wan0/forwarding; ls /sys/class/net; }
    # `set -e` ignores `! command`.
    no() { if eval "$@"; then return 1; fi; }
    state > $folder/before
"#;

/// Runs a script on such a host. Sets `$goodqueue`, `$this` and `$folder`; `$take` fetches the
/// million bytes.
pub(super) fn on_a_host(folder: &TempDir, script: &str) -> Output {
    let this = std::env::current_exe().unwrap();
    let take = folder.path().join("take");
    let fetch =
        format!("{ROLE}='take 203.0.113.1' exec {} --exact inside --quiet --nocapture", this.display());
    std::fs::write(&take, fetch).unwrap();
    goodqueue()
        .args(["shell", "--quiet", "--", "bash", "-c", &format!("{HOST}\n{script}\nkill $server $serving")])
        .env("goodqueue", env!("CARGO_BIN_EXE_goodqueue"))
        .env("this", this)
        .env("take", format!("sh {}", take.display()))
        .env("folder", folder.path())
        .output()
        .unwrap()
}

#[test]
fn nat_leads_to_the_host_s_network_and_leaves_the_host_as_it_was() {
    if !root_with_ip("nat_leads_to_the_host_s_network_and_leaves_the_host_as_it_was") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let script = r#"
        nat="$goodqueue shell --nat --rate 20mbit --rtt 10ms --undo-file $folder/undo"
        $nat --quiet --json $folder/stats -- $take
        state | diff $folder/before - && [ ! -e $folder/undo ]
        # What it changes meanwhile is written down; from outside nobody begins a connection to the program.
        $nat --quiet -- sh -c "echo \$GOODQUEUE_CLIENT > $folder/client; \
            GOODQUEUE_TEST_ROLE='serve-all 0.0.0.0' exec $this --exact inside --quiet" & first=$!
        while [ ! -s $folder/client ]; do sleep 0.02; done
        grep -q 'setting ipv4/conf/wan0/forwarding 0' $folder/undo
        [ $(stat -c %a $folder/undo) = 600 ]
        [ $(cat /proc/sys/net/ipv4/conf/wan0/forwarding) = 1 ]
        nsenter -t $server --net ip route add 198.18.0.0/16 via 203.0.113.2
        connect="timeout 1 bash -c 'echo > /dev/tcp/$(cat $folder/client)/5001'"
        tries=0; while ! eval "$connect"; do sleep 0.02; tries=$((tries + 1)); [ $tries -lt 1000 ]; done
        no "nsenter -t $server --net $connect"
        # Forwarding ends with the first: a second one would lose it. Where the host forwards anyway, there can be many.
        no "$goodqueue shell --nat --quiet -- true 2>$folder/said"
        grep -q 'another run with --nat has enabled forwarding' $folder/said
        # Killed, the host is as before; so it is at any moment of the beginning.
        restored() { tries=0; while ! state | diff $folder/before - >/dev/null || [ -e $folder/undo ]; do
            sleep 0.02; tries=$((tries + 1)); [ $tries -lt 1500 ] || { state | diff $folder/before -; return 1; }; done; }
        kill -9 $first; restored
        for delay in 0 0.005 0.01 0.015 0.02 0.03 0.05 0.08; do
            $nat --quiet -- sleep 300 & pid=$!
            sleep $delay; kill -9 $pid; wait $pid || true; restored
        done
        echo 1 > /proc/sys/net/ipv4/ip_forward
        $nat --quiet -- sleep 300 & first=$!
        $nat --quiet -- $take; [ ! -e $folder/undo ]; kill -9 $first
        [ $(cat /proc/sys/net/ipv4/conf/wan0/forwarding) = 1 ]"#;
    good(&on_a_host(&folder, script));
    let packets = &json(&folder.path().join("stats"))["down"]["packets"];
    assert!(
        // With 1448 bytes of payload, a million bytes are 691 packets.
        packets["dequeued"].as_u64() > Some(690),
        "a million bytes came through the bottleneck: {packets}"
    );
}

/// Addresses of IPv6 on such a host; `$take6` fetches a million bytes from 2001:db8::1.
const HOST_V6: &str = r#"
    nsenter -t $server --net ip addr add 2001:db8::1/64 dev peer0 nodad; ip addr add 2001:db8::2/64 dev wan0 nodad
    nsenter -t $server --net env GOODQUEUE_TEST_ROLE='serve-all 2001:db8::1' $this --exact inside --quiet & serving6=$!
    trap 'kill $serving6' EXIT
    printf '%s' "GOODQUEUE_TEST_ROLE='take 2001:db8::1' exec $this --exact inside --quiet --nocapture" > $folder/take6
    take6="sh $folder/take6"
"#;

#[test]
fn nat_carries_ipv6_where_the_host_forwards_it() {
    if !root_with_ip("nat_carries_ipv6_where_the_host_forwards_it") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let script = r#"
        nat="$goodqueue shell --nat --rate 20mbit --rtt 10ms --undo-file $folder/undo"
        # A host that does not forward IPv6 stays so.
        $nat --quiet -- sh -c 'ip -6 -o addr show scope global' | no 'grep -q inet6'
        [ $(cat /proc/sys/net/ipv6/conf/all/forwarding) = 0 ]
        echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
        tries=0; while ! $take6 >/dev/null 2>&1; do sleep 0.02; tries=$((tries + 1)); [ $tries -lt 1000 ]; done
        $nat --quiet --json $folder/stats -- $take6
        no 'ip -6 -o addr | grep 2001:2:0'
        # From outside nobody begins a connection to the program.
        $nat --quiet -- sh -c "ip -6 -o addr show scope global | grep -o '2001:2:0:[0-9a-f]*::1' > $folder/client; \
            GOODQUEUE_TEST_ROLE='serve-all ::' exec $this --exact inside --quiet" & first=$!
        while [ ! -s $folder/client ]; do sleep 0.02; done
        nsenter -t $server --net ip -6 route add 2001:2::/48 via 2001:db8::2
        connect="timeout 1 bash -c 'echo > /dev/tcp/$(cat $folder/client)/5001'"
        tries=0; while ! eval "$connect"; do sleep 0.02; tries=$((tries + 1)); [ $tries -lt 1000 ]; done
        no "nsenter -t $server --net $connect"
        kill -9 $first"#;
    good(&on_a_host(&folder, &format!("{HOST_V6}\n{script}")));
    let packets = &json(&folder.path().join("stats"))["down"]["packets"];
    assert!(packets["dequeued"].as_u64() > Some(690), "a million bytes came through: {packets}");
}

#[test]
fn shape_carries_the_ipv6_of_a_host() {
    if !root_with_ip("shape_carries_the_ipv6_of_a_host") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let script = r#"
        tries=0; while ! $take6 >/dev/null 2>&1; do sleep 0.02; tries=$((tries + 1)); [ $tries -lt 1000 ]; done
        ip -6 -o addr show dev wan0 | grep -v fe80 > $folder/before6
        $goodqueue shape --before wan0 --made gq0 --take-over --undo-file $folder/undo --rate 30mbit --up 20mbit \
            --qdisc fq_codel --control $folder/control --quiet --json $folder/stats & pid=$!
        tries=0; while ! $goodqueue stats --control $folder/control >/dev/null 2>&1; do
            sleep 0.02; tries=$((tries + 1)); [ $tries -lt 1000 ]; done
        ip -6 -o addr show dev gq0 | grep -q '2001:db8::2/64'; no 'ip -6 -o addr show dev wan0 | grep -q 2001:db8'
        $take6
        kill $pid; wait $pid
        ip -6 -o addr show dev wan0 | grep -v fe80 | diff $folder/before6 -; $take6"#;
    good(&on_a_host(&folder, &format!("{HOST_V6}\n{script}")));
    let packets = &json(&folder.path().join("stats"))["down"]["packets"];
    assert!(packets["dequeued"].as_u64() > Some(690), "a million bytes came through: {packets}");
}

#[test]
fn nat_says_what_it_needs() {
    if skipped("nat_says_what_it_needs") {
        return;
    }
    // Runs inside a shell, without the capabilities that root keeps there.
    let script = format!(
        "exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs {} shell --nat --quiet -- true",
        env!("CARGO_BIN_EXE_goodqueue")
    );
    let output = goodqueue().args(["shell", "--quiet", "--", "sh", "-c", &script]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("not found") {
        tell_skipped("nat_says_what_it_needs", "there is no setpriv");
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("needs CAP_NET_ADMIN: run it with sudo"), "{said}");
}

#[test]
fn shape_takes_over_an_interface_and_gives_it_back_however_it_ends() {
    if !root_with_ip("shape_takes_over_an_interface_and_gives_it_back_however_it_ends") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let script = r#"
        ip addr add 203.0.113.77/32 dev wan0; ip addr add 2001:db8::2/64 dev wan0 nodad
        ip route add 192.0.2.0/24 via 203.0.113.1 metric 50; ip -6 route add default via 2001:db8::1
        state() { ip -o addr show dev wan0 | grep -v fe80; ip route | sort; ip -6 route show default; ls /sys/class/net | grep -v gq0; }
        state > $folder/before
        shape="$goodqueue shape --before wan0 --made gq0 --take-over --undo-file $folder/undo --rate 30mbit --up 20mbit \
            --qdisc fq_codel --control $folder/control --quiet"
        up() { tries=0; while ! $goodqueue stats --control $folder/control >/dev/null 2>&1; do
            sleep 0.02; tries=$((tries + 1)); [ $tries -lt 1000 ]; done; }
        restored() { tries=0; while ! state | diff $folder/before - >/dev/null || [ -e $folder/undo ]; do
            sleep 0.02; tries=$((tries + 1)); [ $tries -lt 1500 ] || { state | diff $folder/before -; return 1; }; done; }
        # The host's own traffic goes through it.
        $shape --json $folder/stats & pid=$!
        up; ip route | grep -q 'default via 203.0.113.1 dev gq0'; ip -o addr show dev gq0 | grep -q 203.0.113.77
        no "ip -o addr show dev wan0 | grep -q '203.0.113'"
        grep -q '# address 203.0.113.2/24 of wan0' $folder/undo
        grep -q 'CapPrm:.*0000000000000000' /proc/$pid/status
        # Who watches has CAP_NET_ADMIN (bit 12) and nothing else.
        grep -q 'CapPrm:.*0000000000001000' /proc/$(pgrep -x gq-undo)/status
        $take
        # A second one finds the undo file, and touches nothing.
        $shape 2>$folder/said && exit 1; grep -q 'there is an interface' $folder/said
        kill $pid; wait $pid; restored; $take
        # Killed, a second process restores.
        $shape & pid=$!
        up; kill -9 $pid; restored; $take
        # Both killed, the undo file does.
        $shape & pid=$!
        up; guardian=$(pgrep -x gq-undo); kill -9 $guardian $pid
        tries=0; while ip route | grep -q default; do sleep 0.02; tries=$((tries + 1)); [ $tries -lt 1000 ]; done
        [ -e $folder/undo ]
        $goodqueue shape --undo $folder/undo > $folder/undone
        grep -q 'restored: route default via 203.0.113.1 of wan0' $folder/undone
        restored; $take
        # Nobody confirms: it ends by itself.
        $shape --confirm-within 1s & pid=$!
        wait $pid; restored
        # Somebody does: it goes on. On a busy machine this may be too late, and is tried again.
        confirmed() { $goodqueue stats --control $folder/control confirm 2>/dev/null | grep -q true; }
        patience=3; $shape --confirm-within ${patience}s & pid=$!
        while ! confirmed; do
            if ! kill -0 $pid 2>/dev/null; then
                restored; patience=$((2 * patience)); [ $patience -lt 400 ]
                $shape --confirm-within ${patience}s & pid=$!
            fi
            sleep 0.02
        done
        # Past the time at which it would have ended, by its own clock.
        later() { [ $($goodqueue stats --control $folder/control | grep -o '"duration_s": [0-9]*' | grep -o '[0-9]*$') -gt $patience ]; }
        while ! later; do sleep 0.1; done; $take
        kill $pid; wait $pid; restored"#;
    good(&on_a_host(&folder, script));
    let packets = &json(&folder.path().join("stats"))["down"]["packets"];
    assert!(
        packets["dequeued"].as_u64() > Some(690),
        "a million bytes came through the bottleneck: {packets}"
    );
}

#[test]
fn an_undo_file_that_is_none_is_refused() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("undo");
    std::fs::write(&file, "reboot\n").unwrap();
    let output = goodqueue().args(["shape", "--undo"]).arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not an undo file of goodqueue"));
    assert!(file.exists());
}
