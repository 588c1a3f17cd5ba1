# CUBIC flows through one FIFO on ns-2 (Debian's package `ns2`):
#   ns fifo.tcl FLOWS MBIT SECONDS [count]
#
# One link with a delay of 25 ms, so the round-trip time is 50 ms, and a FIFO of 1,000 packets: the
# shortest path that ns-2 can have. With `count` it prints the packets that left the FIFO. A monitor
# counts them, which costs time, so runs that are timed go without it.

set flows [lindex $argv 0]
set mbit [lindex $argv 1]
set seconds [lindex $argv 2]
set counts [string equal [lindex $argv 3] count]

set ns [new Simulator]
# Without this, ns-2 copies the header of every packet type into each packet.
remove-all-packet-headers
add-packet-header IP TCP Flags

set server [$ns node]
set client [$ns node]
$ns duplex-link $server $client ${mbit}Mb 25ms DropTail
$ns queue-limit $server $client 1000
$ns queue-limit $client $server 1000

for {set number 0} {$number < $flows} {incr number} {
  # ns-2's interface to Linux's congestion controllers, with SACK and delayed ACKs.
  set tcp [new Agent/TCP/Linux]
  $tcp set packetSize_ 1460
  $tcp set window_ 100000
  $tcp set timestamps_ true
  $tcp select_ca cubic
  set sink [new Agent/TCPSink/Sack1/DelAck]
  $sink set ts_echo_rfc1323_ true
  $ns attach-agent $server $tcp
  $ns attach-agent $client $sink
  $ns connect $tcp $sink
  set source [new Application/FTP]
  $source attach-agent $tcp
  $ns at [expr 0.001 * $number] "$source start"
}

if {$counts} {
  set monitor [$ns monitor-queue $server $client [open /dev/null w]]
}
proc finish {} {
  global counts monitor
  if {$counts} {
    puts [$monitor set pdepartures_]
  }
  exit 0
}
$ns at $seconds finish
$ns run
