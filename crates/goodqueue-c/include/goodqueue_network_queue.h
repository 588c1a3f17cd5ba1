// A queue discipline of goodqueue as a NetworkQueue of libwebrtc's network emulation:
// api/test/network_emulation/network_queue.h. Include this file behind that one.
#ifndef GOODQUEUE_NETWORK_QUEUE_H_
#define GOODQUEUE_NETWORK_QUEUE_H_

#include <algorithm>
#include <map>
#include <stdexcept>

#include "goodqueue.h"

class GoodqueueNetworkQueue : public webrtc::NetworkQueue {
 public:
  // `line` is a discipline in tc's grammar, such as "fq_codel ecn".
  explicit GoodqueueNetworkQueue(const char* line, uint64_t bits_per_second = 0, uint64_t seed = 1) {
    char error[512] = "";
    queue_ = gq_queue_new(line, bits_per_second, seed, error, sizeof error);
    if (queue_ == nullptr) throw std::invalid_argument(error);
  }
  ~GoodqueueNetworkQueue() override { gq_queue_free(queue_); }
  GoodqueueNetworkQueue(const GoodqueueNetworkQueue&) = delete;
  GoodqueueNetworkQueue& operator=(const GoodqueueNetworkQueue&) = delete;

  void SetMaxPacketCapacity(size_t capacity) override { capacity_ = capacity; }
  bool EnqueuePacket(const webrtc::PacketInFlightInfo& info) override {
    now_ns_ = std::max(now_ns_, uint64_t(info.send_time().us()) * 1000);
    if (gq_queue_len(queue_) >= capacity_) return false;
    GqPacket packet = {next_id_, uint32_t(info.size), 0, uint8_t(info.ecn)};
    if (!gq_queue_enqueue(queue_, now_ns_, packet)) return false;
    packets_.emplace(next_id_++, info);
    return true;
  }
  // Decides at the time of the latest call, which is when the link became free.
  std::optional<webrtc::PacketInFlightInfo> PeekNextPacket() const override {
    GqPacket packet;
    if (!gq_queue_peek(queue_, now_ns_, &packet)) return std::nullopt;
    return Marked(packets_.at(packet.id), packet);
  }
  std::optional<webrtc::PacketInFlightInfo> DequeuePacket(webrtc::Timestamp now) override {
    now_ns_ = std::max(now_ns_, uint64_t(now.us()) * 1000);
    GqPacket packet;
    if (!gq_queue_dequeue(queue_, now_ns_, &packet)) return std::nullopt;
    return Taken(packet);
  }
  std::vector<webrtc::PacketInFlightInfo> DequeueDroppedPackets() override {
    std::vector<webrtc::PacketInFlightInfo> dropped;
    for (GqPacket packet; gq_queue_dropped(queue_, &packet);) dropped.push_back(Taken(packet));
    return dropped;
  }
  bool empty() const override { return gq_queue_len(queue_) == 0; }

 private:
  static webrtc::PacketInFlightInfo Marked(webrtc::PacketInFlightInfo info, const GqPacket& packet) {
    info.ecn = webrtc::EcnMarking(packet.tos & GQ_CE);
    return info;
  }
  webrtc::PacketInFlightInfo Taken(const GqPacket& packet) {
    return Marked(packets_.extract(packet.id).mapped(), packet);
  }

  GqQueue* queue_;
  uint64_t now_ns_ = 0, next_id_ = 0;
  size_t capacity_ = SIZE_MAX;
  std::map<uint64_t, webrtc::PacketInFlightInfo> packets_;
};

#endif  // GOODQUEUE_NETWORK_QUEUE_H_
