// A sender with a window over a link of goodqueue: the same transfer behind a large buffer and
// behind fq_codel. The sender halves its window for a mark or a loss. It doubles the window each
// round trip before the first one, and adds a packet each round trip afterwards.
#include <stdio.h>
#include <stdlib.h>

#include "goodqueue.h"

enum { PACKETS = 8000, ACK_DELAY_NS = 25000000 };

struct Acknowledgement { uint64_t at_ns; bool congested; };

static struct GqStatistics transfer(const char *line) {
  char error[256];
  struct GqLink *link = gq_link_new(line, 1, error, sizeof error);
  if (link == NULL) {
    fprintf(stderr, "%s\n", error);
    exit(2);
  }
  // Acknowledgements on their way back, in the order of their arrival.
  static struct Acknowledgement back[PACKETS];
  size_t first = 0, last = 0;
  uint64_t now = 0, sent = 0, in_flight = 0, reduced_until = 0;
  double window = 10, threshold = PACKETS;
  while (first < PACKETS) {
    while (sent < PACKETS && in_flight < (uint64_t)window) {
      struct GqPacket packet = { .id = sent++, .bytes = 1514, .flow = 1, .tos = GQ_ECT0 };
      gq_link_send(link, now, packet);
      in_flight++;
    }
    uint64_t next = gq_link_next_event(link);
    if (first < last && back[first].at_ns < next) next = back[first].at_ns;
    now = next;
    struct GqEvent event;
    while (gq_link_poll(link, now, &event)) {
      bool congested = event.fate != GQ_ARRIVED || (event.packet.tos & GQ_CE) == GQ_CE;
      back[last++] = (struct Acknowledgement){ event.at_ns + ACK_DELAY_NS, congested };
    }
    for (; first < last && back[first].at_ns <= now; first++) {
      in_flight--;
      if (!back[first].congested) {
        window += window < threshold ? 1 : 1 / window;
      } else if (now >= reduced_until) {
        window = threshold = window > 4 ? window / 2 : 2;
        reduced_until = now + 2 * ACK_DELAY_NS;
      }
    }
  }
  struct GqStatistics statistics = gq_link_statistics(link);
  printf("%-45s median %4.0f ms, %llu marked, %llu dropped\n", line, statistics.sojourn_p50_ns / 1e6,
         (unsigned long long)statistics.marked, (unsigned long long)statistics.dropped);
  gq_link_free(link);
  return statistics;
}

int main(void) {
  struct GqStatistics bloated = transfer("20mbit delay 25ms [bfifo limit 1mb]");
  struct GqStatistics managed = transfer("20mbit delay 25ms [fq_codel ecn]");
  const uint64_t bound = 30000000;
  if (bloated.sojourn_p50_ns <= bound) return 1;
  if (managed.sojourn_p50_ns > bound || managed.marked == 0 || managed.dropped > 0) return 1;
  return 0;
}
