#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

// Events of a rank, 32 bytes each, in one buffer per thread. The number of events is bounded: Note [Segments].

namespace tdsl::rt {

enum class TraceKind : std::uint8_t {
  kTask,
  kWait,
  kReceive,
  kSend,
  kSave,
  kPlan,
  kControl,
  kMemory,
  kDiskRead,
  kDiskWrite
};
[[nodiscard]] const char* name_of(TraceKind kind);

/// One event. Times are on the clock common to all ranks of a trace.
struct TraceEvent {
  static constexpr std::uint64_t kNone = (1 << 20) - 1;  ///< no peer, site or panel, or a number out of range
  static constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 40) - 1;
  static constexpr std::uint32_t kNoOperation = 0xffffffff;

  std::int64_t start = 0;  ///< nanoseconds
  std::uint64_t kind_ : 4 = 0;
  std::uint64_t peer_ : 20 = kNone;  ///< disk events: number of the disk's thread
  std::uint64_t site_ : 20 = kNone;
  std::uint64_t panel_ : 20 = kNone;
  float seconds = 0;
  std::uint32_t operation = kNoOperation;  ///< numbered as submitted
  std::uint64_t bytes_ : 40 = 0;
  /// Number of a request of the requesting rank: the one a message answers, or the last one a task waited for; 0: none.
  /// Disk events: site of the tensor.
  std::uint64_t request_ : 24 = 0;

  TraceEvent() = default;
  TraceEvent(TraceKind kind, std::int64_t begin, double duration)
      : start(begin), kind_(static_cast<std::uint64_t>(kind) & 15), seconds(static_cast<float>(duration)) {}
  TraceEvent& peer(std::int64_t rank) {
    peer_ = fitting(rank) & kNone;
    return *this;
  }
  TraceEvent& site(std::int64_t number) {
    site_ = fitting(number) & kNone;
    return *this;
  }
  TraceEvent& step(std::int64_t op, std::int64_t panel) {
    operation = static_cast<std::uint32_t>(op);
    panel_ = fitting(panel) & kNone;
    return *this;
  }
  TraceEvent& bytes(std::int64_t count) {
    bytes_ = std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0)), kMostBytes) & kMostBytes;
    return *this;
  }
  TraceEvent& request(std::uint32_t number) {
    request_ = number & 0xffffff;
    return *this;
  }

  [[nodiscard]] TraceKind kind() const { return static_cast<TraceKind>(kind_); }

 private:
  static std::uint64_t fitting(std::int64_t number) {
    return number >= 0 && static_cast<std::uint64_t>(number) < kNone ? static_cast<std::uint64_t>(number) : kNone;
  }
};
static_assert(sizeof(TraceEvent) == 32);

// Note [Segments]
// A trace is divided into segments of about a millisecond. A full buffer discards every second segment kept so far,
// from then on records only segments that the same rule keeps, and continues: the kept events always cover the run
// evenly. Segments are counted on the common clock, and each selection contains the next: the segments kept by a rank
// with more halvings are also kept by all others.
class TraceBuffer {
 public:
  static constexpr int kSegmentBits = 20;  ///< a segment lasts 2^20 ns

  explicit TraceBuffer(std::size_t capacity) : capacity_(capacity) { events_.reserve(capacity); }

  void add(const TraceEvent& event) {
    if (!keeps(event, halvings_)) return;
    if (events_.size() == capacity_ && !make_room(event)) return;
    events_.push_back(event);
  }

  [[nodiscard]] const std::vector<TraceEvent>& events() const { return events_; }
  /// Every 2^halvings-th segment is kept.
  [[nodiscard]] int halvings() const { return halvings_; }
  /// Events of kept segments dropped for lack of space.
  [[nodiscard]] std::int64_t lost() const { return lost_; }
  [[nodiscard]] static bool keeps(const TraceEvent& event, int halvings) {
    return ((event.start >> kSegmentBits) & ((std::int64_t{1} << halvings) - 1)) == 0;
  }

 private:
  bool make_room(const TraceEvent& event);

  std::size_t capacity_;
  std::vector<TraceEvent> events_;
  int halvings_ = 0;
  std::int64_t lost_ = 0;
};

/// A rank's buffers: one per computing thread, one for the watching thread, one per disk thread.
class Trace {
 public:
  /// `zero`: World::now() at time 0 of the common clock.
  Trace(int computing, int disk_threads, std::size_t capacity, double zero);

  [[nodiscard]] TraceBuffer& buffer(int thread) { return *buffers_[static_cast<std::size_t>(thread)]; }
  [[nodiscard]] const TraceBuffer& buffer(int thread) const { return *buffers_[static_cast<std::size_t>(thread)]; }
  [[nodiscard]] int computing() const { return computing_; }
  [[nodiscard]] TraceBuffer& of_watch() { return buffer(computing_); }
  [[nodiscard]] TraceBuffer& of_disk(int thread) { return buffer(computing_ + 1 + thread); }
  [[nodiscard]] int threads() const { return static_cast<int>(buffers_.size()); }
  /// Converts a time of World::now() to the common clock, in nanoseconds.
  [[nodiscard]] std::int64_t at(double now) const { return std::llround((now - zero_) * 1e9); }

 private:
  int computing_;
  std::vector<std::unique_ptr<TraceBuffer>> buffers_;
  double zero_;
};

/// Buffer for the calling thread's events; null: not traced.
inline constinit thread_local TraceBuffer* thread_trace = nullptr;

/// Directs the thread's events into a buffer during its lifetime.
class TraceScope {
 public:
  explicit TraceScope(TraceBuffer* buffer) : before_(thread_trace) { thread_trace = buffer; }
  ~TraceScope() { thread_trace = before_; }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  TraceBuffer* before_;
};

}  // namespace tdsl::rt
