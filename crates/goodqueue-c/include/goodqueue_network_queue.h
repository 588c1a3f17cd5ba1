// A queue discipline of goodqueue as a NetworkQueue of libwebrtc's network emulation:
// api/test/network_emulation/network_queue.h. Include this file behind that one.
#ifndef GOODQUEUE_NETWORK_QUEUE_H_
#define GOODQUEUE_NETWORK_QUEUE_H_

#include <map>
#include <memory>
#include <stdexcept>

#include "goodqueue.h"

class GoodqueueNetworkQueue : public webrtc::NetworkQueue {
 public:
  // `line` is a discipline in tc's grammar, such as "fq_codel ecn".
  explicit GoodqueueNetworkQueue(const char* line, uint64_t bits_per_second = 0, uint64_t seed = 1) {
    char error[512] = "";
    queue_.reset(gq_queue_new(line, bits_per_second, seed, error, sizeof error));
    if (!queue_) throw std::invalid_argument(error);
  }

  void SetMaxPacketCapacity(size_t capacity) override { capacity_ = capacity; }
  bool EnqueuePacket(const webrtc::PacketInFlightInfo& info) override {
    if (gq_queue_len(queue_.get()) >= capacity_) return false;
    GqPacket packet = {info.packet_id, uint32_t(info.size), 0, uint8_t(info.ecn)};
    if (!gq_queue_enqueue(queue_.get(), uint64_t(info.send_time().us()) * 1000, packet)) return false;
    return packets_.emplace(info.packet_id, info).second;
  }
  std::optional<webrtc::PacketInFlightInfo> PeekNextPacket() const override {
    GqPacket packet;
    // At 0, which is the time of the latest call: the link became free then.
    if (!gq_queue_peek(queue_.get(), 0, &packet)) return std::nullopt;
    return Marked(packets_.at(packet.id), packet);
  }
  std::optional<webrtc::PacketInFlightInfo> DequeuePacket(webrtc::Timestamp now) override {
    GqPacket packet;
    if (!gq_queue_dequeue(queue_.get(), uint64_t(now.us()) * 1000, &packet)) return std::nullopt;
    return Marked(packets_.extract(packet.id).mapped(), packet);
  }
  std::vector<webrtc::PacketInFlightInfo> DequeueDroppedPackets() override {
    std::vector<webrtc::PacketInFlightInfo> dropped;
    for (GqPacket packet; gq_queue_dropped(queue_.get(), &packet);)
      dropped.push_back(Marked(packets_.extract(packet.id).mapped(), packet));
    return dropped;
  }
  bool empty() const override { return gq_queue_len(queue_.get()) == 0; }

 private:
  static webrtc::PacketInFlightInfo Marked(webrtc::PacketInFlightInfo info, const GqPacket& packet) {
    info.ecn = webrtc::EcnMarking(packet.tos & GQ_CE);
    return info;
  }

  std::unique_ptr<GqQueue, decltype(&gq_queue_free)> queue_{nullptr, gq_queue_free};
  size_t capacity_ = SIZE_MAX;
  // By their identifiers, which differ among packets in flight.
  std::map<uint64_t, webrtc::PacketInFlightInfo> packets_;
};

#endif  // GOODQUEUE_NETWORK_QUEUE_H_
