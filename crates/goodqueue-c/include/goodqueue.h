/* goodqueue for C and C++. Written from the code of the crate goodqueue-c. */

#ifndef GOODQUEUE_H_
#define GOODQUEUE_H_

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/**
 * No time: nothing happens until the next call that changes something.
 */
#define GQ_NEVER UINT64_MAX

/**
 * ECN field of a packet whose transport does not understand ECN.
 */
#define GQ_NOT_ECT 0

/**
 * ECN field of a packet that asks for L4S treatment (RFC 9331).
 */
#define GQ_ECT1 1

/**
 * ECN field of an ECN-capable packet (RFC 3168).
 */
#define GQ_ECT0 2

/**
 * ECN field of a marked packet.
 */
#define GQ_CE 3

/**
 * The packet reached the other side.
 */
#define GQ_ARRIVED 0

/**
 * The queue discipline dropped the packet.
 */
#define GQ_DROPPED 1

/**
 * The path behind the queue lost the packet.
 */
#define GQ_LOST 2

/**
 * One direction of a bottleneck: a queue discipline, a rate, and a path with delay and faults.
 */
struct GqLink;

/**
 * A queue discipline. The caller is the link.
 */
struct GqQueue;

/**
 * A packet. The caller keeps its bytes, and finds them by `id`.
 */
struct GqPacket {
  /**
   * Any number or pointer of the caller.
   */
  uint64_t id;
  /**
   * Length in bytes as the link counts it. The kernel counts the Ethernet header: 1514 for a
   * full packet.
   */
  uint32_t bytes;
  /**
   * Number of the flow. Disciplines that separate flows hash it.
   */
  uint32_t flow;
  /**
   * TOS byte: the code point, and in the two low bits the ECN field, such as `GQ_ECT0`.
   */
  uint8_t tos;
};

/**
 * The fate of a packet.
 */
struct GqEvent {
  /**
   * Time of the event.
   */
  uint64_t at_ns;
  /**
   * The packet; with `GQ_CE` in its TOS byte if it was marked.
   */
  struct GqPacket packet;
  /**
   * `GQ_ARRIVED`, `GQ_DROPPED` or `GQ_LOST`.
   */
  uint8_t fate;
};

/**
 * Measurements of a link since its beginning.
 */
struct GqStatistics {
  /**
   * Packets that left the queue.
   */
  uint64_t sent;
  /**
   * Packets that `gq_link_poll` returned as arrived.
   */
  uint64_t arrived;
  /**
   * Packets that the discipline dropped.
   */
  uint64_t dropped;
  /**
   * Packets that the discipline marked.
   */
  uint64_t marked;
  /**
   * Packets that the path lost.
   */
  uint64_t lost;
  /**
   * Median of the time in the queue; the largest number without a packet, as the following ones.
   */
  uint64_t sojourn_p50_ns;
  /**
   * 95th percentile.
   */
  uint64_t sojourn_p95_ns;
  /**
   * 99th percentile.
   */
  uint64_t sojourn_p99_ns;
  /**
   * Longest time.
   */
  uint64_t sojourn_max_ns;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns a link that `description` describes, such as `20mbit delay 25ms [fq_codel ecn]`; null if
 * it is wrong. `error` then has the reason, cut to `error_size` bytes; it may be null.
 *
 * # Safety
 * `description` is a string, and `error` is null or has `error_size` bytes.
 */
struct GqLink *gq_link_new(const char *description,
                           uint64_t seed,
                           char *error,
                           uintptr_t error_size);

/**
 * Ends a link. Null does nothing.
 *
 * # Safety
 * `link` is null, or a link that has not ended.
 */
void gq_link_free(struct GqLink *link);

/**
 * Offers a packet to the queue at `now_ns`.
 *
 * # Safety
 * `link` is null or a link.
 */
void gq_link_send(struct GqLink *link, uint64_t now_ns, struct GqPacket packet);

/**
 * Writes the next event until `now_ns` to `event`, in order of time. Returns false if there is
 * none left.
 *
 * # Safety
 * `link` is null or a link, and `event` is null or an event.
 */
bool gq_link_poll(struct GqLink *link, uint64_t now_ns, struct GqEvent *event);

/**
 * Returns the time at which `gq_link_poll` has something to do next, or `GQ_NEVER`. It is after
 * the time of a `gq_link_poll` that returned false.
 *
 * # Safety
 * `link` is null or a link.
 */
uint64_t gq_link_next_event(const struct GqLink *link);

/**
 * Changes the rate at `now_ns`, in bit/s. The packet in transmission keeps the old rate. Rate 0
 * blocks the link.
 *
 * # Safety
 * `link` is null or a link.
 */
void gq_link_set_rate(struct GqLink *link, uint64_t now_ns, uint64_t bits_per_second);

/**
 * Sends nothing from `now_ns` until `until_ns`, as a radio during a hand-over.
 *
 * # Safety
 * `link` is null or a link.
 */
void gq_link_gap(struct GqLink *link, uint64_t now_ns, uint64_t until_ns);

/**
 * Writes every packet of the queue from now on to the file `path` for `goodqueue replay`, until
 * `gq_link_free`. Returns false if the file cannot be written; `error` is as in `gq_link_new`.
 *
 * # Safety
 * `link` is null or a link, `path` a string, and `error` null or of `error_size` bytes.
 */
bool gq_link_record(struct GqLink *link, const char *path, char *error, uintptr_t error_size);

/**
 * Returns what the link measured.
 *
 * # Safety
 * `link` is null or a link.
 */
struct GqStatistics gq_link_statistics(const struct GqLink *link);

/**
 * Returns a discipline that `line` describes in the grammar of tc, such as `codel target 15ms`, in
 * front of a link of this rate; null if it is wrong. `error` is as in `gq_link_new`.
 *
 * The time of a queue does not go back: a call with a time before that of the latest call happens
 * at the time of the latest call. The time 0 therefore repeats the latest time.
 *
 * # Safety
 * `line` is a string, and `error` is null or has `error_size` bytes.
 */
struct GqQueue *gq_queue_new(const char *line,
                             uint64_t bits_per_second,
                             uint64_t seed,
                             char *error,
                             uintptr_t error_size);

/**
 * Ends a queue. Null does nothing.
 *
 * # Safety
 * `queue` is null, or a queue that has not ended.
 */
void gq_queue_free(struct GqQueue *queue);

/**
 * A packet arrives at `now_ns`. Returns false if the discipline dropped this packet at once; it is
 * then not among those of `gq_queue_dropped`.
 *
 * # Safety
 * `queue` is null or a queue.
 */
bool gq_queue_enqueue(struct GqQueue *queue, uint64_t now_ns, struct GqPacket packet);

/**
 * Writes the packet that leaves next to `packet`, and keeps it. The discipline decides about it
 * now: look when the link is free for it, and not before. Returns false if no packet may leave.
 *
 * # Safety
 * `queue` is null or a queue, and `packet` is null or a packet.
 */
bool gq_queue_peek(struct GqQueue *queue, uint64_t now_ns, struct GqPacket *packet);

/**
 * As `gq_queue_peek`, and takes the packet out of the queue.
 *
 * # Safety
 * `queue` is null or a queue, and `packet` is null or a packet.
 */
bool gq_queue_dequeue(struct GqQueue *queue, uint64_t now_ns, struct GqPacket *packet);

/**
 * Writes the next packet to `packet` that was dropped after it had been queued. Returns false if
 * there is none left.
 *
 * # Safety
 * `queue` is null or a queue, and `packet` is null or a packet.
 */
bool gq_queue_dropped(struct GqQueue *queue, struct GqPacket *packet);

/**
 * Returns the number of queued packets.
 *
 * # Safety
 * `queue` is null or a queue.
 */
uintptr_t gq_queue_len(const struct GqQueue *queue);

/**
 * Returns the time at which a queue that gave no packet may give one, or `GQ_NEVER`: only an
 * arrival can change the answer.
 *
 * # Safety
 * `queue` is null or a queue.
 */
uint64_t gq_queue_next_event(const struct GqQueue *queue);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GOODQUEUE_H_ */
