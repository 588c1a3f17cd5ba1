// Drives the NetworkQueue as the emulated network of libwebrtc does, with the few types of
// libwebrtc that it needs. Build it with libwebrtc's own headers instead where they are.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <vector>

namespace webrtc {
class Timestamp {
 public:
  static Timestamp Micros(int64_t us) { return Timestamp{us}; }
  int64_t us() const { return us_; }
  int64_t us_;
};
enum class EcnMarking { kNotEct = 0, kEct1 = 1, kEct0 = 2, kCe = 3 };
struct PacketInFlightInfo {
  size_t size;
  int64_t send_time_us;
  uint64_t packet_id;
  EcnMarking ecn;
  Timestamp send_time() const { return Timestamp::Micros(send_time_us); }
};
class NetworkQueue {
 public:
  virtual ~NetworkQueue() = default;
  virtual void SetMaxPacketCapacity(size_t) = 0;
  virtual bool EnqueuePacket(const PacketInFlightInfo&) = 0;
  virtual std::optional<PacketInFlightInfo> PeekNextPacket() const = 0;
  virtual std::optional<PacketInFlightInfo> DequeuePacket(Timestamp) = 0;
  virtual std::vector<PacketInFlightInfo> DequeueDroppedPackets() = 0;
  virtual bool empty() const = 0;
};
}  // namespace webrtc

#include "goodqueue_network_queue.h"

using webrtc::EcnMarking, webrtc::PacketInFlightInfo, webrtc::Timestamp;

struct Counts {
  int sent = 0, marked = 0, dropped = 0, refused = 0;
};

// Packets of 1250 bytes arrive at 20 Mbit/s for a second, and leave at 10 Mbit/s. The emulated
// network looks at each packet before it takes the packet.
static Counts Run(const char* line, EcnMarking ecn, size_t capacity, bool looks = true) {
  GoodqueueNetworkQueue queue(line, 10'000'000);
  queue.SetMaxPacketCapacity(capacity);
  Counts counts;
  uint64_t arrivals = 0;
  for (int64_t now = 0; arrivals < 2000 || !queue.empty(); now += 500) {
    if (arrivals < 2000) counts.refused += !queue.EnqueuePacket({1250, now, arrivals++, ecn});
    if (now % 1000 == 0) {
      auto next = looks ? queue.PeekNextPacket() : std::nullopt;
      auto taken = queue.DequeuePacket(Timestamp::Micros(now));
      // The emulated network ends if the packet that it saw is not there.
      if (next && (!taken || taken->packet_id != next->packet_id || taken->ecn != next->ecn)) throw 1;
      counts.sent += taken.has_value();
      counts.marked += taken && taken->ecn == EcnMarking::kCe;
    }
    counts.dropped += queue.DequeueDroppedPackets().size();
  }
  std::printf("%-16s %d sent, %d of them marked, %d dropped, %d refused\n", line, counts.sent, counts.marked,
              counts.dropped, counts.refused);
  if (counts.sent + counts.dropped + counts.refused != 2000) throw 2;
  return counts;
}

int main() {
  Counts fifo = Run("pfifo limit 100", EcnMarking::kEct1, SIZE_MAX);
  Counts marking = Run("codel ecn", EcnMarking::kEct0, SIZE_MAX);
  // A look decides at the time of the latest call: at most a packet before the packet is taken.
  Counts blind = Run("codel ecn", EcnMarking::kEct0, SIZE_MAX, false);
  Counts dropping = Run("codel", EcnMarking::kNotEct, SIZE_MAX);
  Counts l4s = Run("dualpi2", EcnMarking::kEct1, SIZE_MAX);
  Counts small = Run("codel ecn", EcnMarking::kEct0, 10);
  bool refused_by_name = false;
  try {
    GoodqueueNetworkQueue queue("fq_codle");
  } catch (const std::invalid_argument& error) {
    refused_by_name = std::string(error.what()).find("fq_codel") != std::string::npos;
  }
  bool right = fifo.refused > 0 && fifo.marked == 0 && marking.marked > 0 && marking.dropped == 0 &&
               blind.marked == marking.marked && dropping.dropped > 0 && dropping.marked == 0 &&
               l4s.marked > marking.marked && small.refused > 0 && refused_by_name;
  return right ? 0 : 1;
}
