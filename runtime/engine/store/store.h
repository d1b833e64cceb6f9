#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/plan/space/index.h"

namespace tdsl::rt {

class Store;

/// A block's memory: one buffer, freed with its last reference, 64-byte aligned.
class Buffer {
 public:
  Buffer(Store& store, plan::Index bytes);
  /// Borrowed memory, which is not counted.
  Buffer(Store& store, std::byte* lent, plan::Index bytes) : store_(store), data_(lent), bytes_(bytes), lent_(true) {}
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] plan::Index bytes() const { return bytes_; }

 private:
  Store& store_;
  std::byte* data_ = nullptr;
  plan::Index bytes_ = 0;
  bool lent_ = false;
};
using BufferRef = std::shared_ptr<Buffer>;
/// 0 without a buffer.
[[nodiscard]] inline plan::Index bytes_of(const BufferRef& buffer) { return buffer != nullptr ? buffer->bytes() : 0; }

/// All block memory of a rank: owned blocks, received boxes, assembled boxes. Every byte is counted at allocation.
/// Freed buffers, except small ones, are kept for later buffers of nearly the same size, as long as kept and live bytes
/// together stay within the peak of the live ones: the system's allocator would split such holes, and the memory of
/// programs with loops would grow without bound.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  /// From now on keeps freed buffers only while kept and live bytes together stay within `bytes`.
  void limit(plan::Index bytes) { limit_ = bytes; }

  /// A new buffer; throws RunError ("out of memory" with sizes) if the system refuses.
  [[nodiscard]] BufferRef allocate(plan::Index bytes);

  [[nodiscard]] plan::Index live_bytes() const { return live_bytes_.load(); }
  [[nodiscard]] plan::Index peak_bytes() const { return peak_bytes_.load(); }
  [[nodiscard]] plan::Index largest_buffer_bytes() const { return largest_buffer_bytes_.load(); }
  [[nodiscard]] plan::Index live_buffers() const { return live_buffers_.load(); }
  [[nodiscard]] plan::Index kept_bytes() const { return kept_bytes_; }

 private:
  friend class Buffer;
  /// Memory of that size, possibly reused; null if the system refuses.
  std::byte* take(plan::Index bytes);
  [[nodiscard]] plan::Index most_held() const;
  void give_back(std::byte* data, plan::Index bytes);
  void add(plan::Index bytes);
  void remove(plan::Index bytes);
  std::atomic<plan::Index> live_bytes_{0};
  std::atomic<plan::Index> peak_bytes_{0};
  std::atomic<plan::Index> largest_buffer_bytes_{0};
  std::atomic<plan::Index> live_buffers_{0};
  std::atomic<plan::Index> held_bytes_{0};  ///< live bytes by size classes, the measure for kept buffers
  std::atomic<plan::Index> peak_held_bytes_{0};
  plan::Index limit_ = 0;                        ///< 0: none
  std::mutex mutex_;                             ///< guards the kept buffers
  std::multimap<plan::Index, std::byte*> kept_;  ///< by size class
  plan::Index kept_bytes_ = 0;
};

}  // namespace tdsl::rt
