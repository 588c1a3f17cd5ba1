// CoDel after the pseudo-code of RFC 8289, section 5, and the loop that feeds it recorded arrivals:
//   codel 10000000 < arrivals.csv > decisions.csv
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { uint64_t arrived_ns, number; unsigned bytes; } Packet;

// Your queue begins here.
enum { LIMIT = 1000, MAX_PACKET = 1514 };
static const uint64_t TARGET = 5000000, INTERVAL = 100000000;

static Packet queue[LIMIT];
static unsigned head, length;
static uint64_t queued_bytes, first_above_time, drop_next;
static unsigned count, last_count;
static bool dropping;

static void report(uint64_t now, Packet packet, const char *fate) {
  printf("%llu,%llu,%s\n", (unsigned long long)now, (unsigned long long)packet.number, fate);
}

static uint64_t control_law(uint64_t time, unsigned drops) {
  return time + (uint64_t)(INTERVAL / sqrt(drops));
}

static bool enqueue(uint64_t now, Packet packet) {
  if (length == LIMIT) {
    report(now, packet, "dropped");
    return false;
  }
  queue[(head + length++) % LIMIT] = packet;
  queued_bytes += packet.bytes;
  return true;
}

// Takes the packet at the head, and says whether it may be dropped.
static bool take(uint64_t now, Packet *packet, bool *ok_to_drop) {
  *ok_to_drop = false;
  if (length == 0) {
    first_above_time = 0;
    return false;
  }
  *packet = queue[head];
  head = (head + 1) % LIMIT;
  length--;
  queued_bytes -= packet->bytes;
  if (now - packet->arrived_ns < TARGET || queued_bytes <= MAX_PACKET) {
    first_above_time = 0;
  } else if (first_above_time == 0) {
    first_above_time = now + INTERVAL;
  } else {
    *ok_to_drop = now >= first_above_time;
  }
  return true;
}

static bool dequeue(uint64_t now, Packet *packet) {
  bool ok_to_drop;
  bool found = take(now, packet, &ok_to_drop);
  if (dropping) {
    dropping = dropping && ok_to_drop;
    while (dropping && now >= drop_next) {
      report(now, *packet, "dropped");
      count++;
      found = take(now, packet, &ok_to_drop);
      if (!ok_to_drop) dropping = false;
      else drop_next = control_law(drop_next, count);
    }
  } else if (ok_to_drop) {
    report(now, *packet, "dropped");
    found = take(now, packet, &ok_to_drop);
    dropping = true;
    unsigned delta = count - last_count;
    count = delta > 1 && now - drop_next < 16 * INTERVAL ? delta : 1;
    drop_next = control_law(now, count);
    last_count = count;
  }
  return found;
}
// Your queue ends here.

// The link sends one packet at a time, and asks for the next when the last bit is out, also if the
// queue is empty then. At one instant, packets arrive before the link asks.
static uint64_t busy_until, rate;
static bool idle = true;

static void serve(uint64_t end) {
  while (!idle && busy_until < end) {
    Packet packet;
    idle = !dequeue(busy_until, &packet);
    if (idle) return;
    report(busy_until, packet, "sent");
    busy_until += packet.bytes * 8 * 1000000000ULL / rate;
  }
}

int main(int argc, char **argv) {
  rate = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
  if (rate == 0 || scanf("t_ns,packet,flow,bytes,tos\n") != 0) return 2;
  printf("t_ns,packet,fate\n");
  unsigned long long now, number, flow, bytes, tos;
  while (scanf("%llu,%llu,%llu,%llu,%llu", &now, &number, &flow, &bytes, &tos) == 5) {
    serve(now);
    enqueue(now, (Packet){ now, number, (unsigned)bytes });
    if (idle) busy_until = now;
    idle = false;
  }
  serve(UINT64_MAX);
  return 0;
}
