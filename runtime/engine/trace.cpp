#include "runtime/engine/trace.h"

namespace tdsl::rt {

const char* name_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::kTask: return "task";
    case TraceKind::kWait: return "wait";
    case TraceKind::kReceive: return "receive";
    case TraceKind::kSend: return "send";
    case TraceKind::kSave: return "save";
    case TraceKind::kPlan: return "plan";
    case TraceKind::kControl: return "control";
    case TraceKind::kMemory: return "memory";
    case TraceKind::kDiskRead: return "disk read";
    case TraceKind::kDiskWrite: return "disk write";
  }
  return "";
}

/// Makes room for an event of a kept segment; false: the event is not kept.
bool TraceBuffer::make_room(const TraceEvent& event) {
  constexpr int kMostHalvings = 40;
  while (events_.size() == capacity_ && halvings_ < kMostHalvings) {
    ++halvings_;
    std::erase_if(events_, [this](const TraceEvent& e) { return !keeps(e, halvings_); });
  }
  if (!keeps(event, halvings_)) return false;
  if (events_.size() < capacity_) return true;
  ++lost_;
  return false;
}

Trace::Trace(int computing, int disk_threads, std::size_t capacity, double zero) : computing_(computing), zero_(zero) {
  for (int t = 0; t < computing + 1 + disk_threads; ++t) buffers_.push_back(std::make_unique<TraceBuffer>(capacity));
}

}  // namespace tdsl::rt
