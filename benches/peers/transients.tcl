# One replication of 4+4 flows of Järvinen & Kojo's paper (LCN 2014) on ns-2 (Debian's package `ns2`):
#   ns transients.tcl SEED
#
# A second group of four flows joins the first within 650 ms. Each flow sends 62 packets through an
# access link of 2 Mbit/s. Debian's ns-2 has no CoDel, so the queue is a FIFO of 100 packets.

set rng [new RNG]
$rng seed [lindex $argv 0]

set ns [new Simulator]
remove-all-packet-headers
add-packet-header IP TCP Flags

set server [$ns node]
set router [$ns node]
set client [$ns node]
$ns duplex-link $server $router 100Mb 11ms DropTail
$ns duplex-link $router $client 2Mb 70ms DropTail
$ns queue-limit $router $client 100

set together [$rng uniform 0 0.65]
for {set number 0} {$number < 8} {incr number} {
  set tcp [new Agent/TCP/Sack1]
  $tcp set packetSize_ 1460
  $tcp set window_ 1000
  $tcp set windowInit_ 3
  set sink [new Agent/TCPSink/Sack1/DelAck]
  $ns attach-agent $server $tcp
  $ns attach-agent $client $sink
  $ns connect $tcp $sink
  set source [new Application/FTP]
  $source attach-agent $tcp
  $ns at [expr {$number < 4 ? 0 : $together}] "$source produce 62"
}
$ns at 12 "exit 0"
$ns run
