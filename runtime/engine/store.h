#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>

#include "runtime/plan/index.h"

namespace tdsl::rt {

class Store;

/// A block's memory: one buffer, freed with its last reference, 64-byte aligned. Only buffers are counted.
class Buffer {
 public:
  Buffer(Store& store, plan::Index bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] plan::Index bytes() const { return bytes_; }

 private:
  Store& store_;
  std::byte* data_ = nullptr;
  plan::Index bytes_ = 0;
};
using BufferRef = std::shared_ptr<Buffer>;

/// All block memory of a rank: owned blocks, received boxes, assembled boxes. Every byte is counted at allocation.
class Store {
 public:
  /// A new buffer; throws RunError ("out of memory" with sizes) when the system refuses.
  [[nodiscard]] BufferRef allocate(plan::Index bytes);

  [[nodiscard]] plan::Index live_bytes() const { return live_bytes_.load(); }
  [[nodiscard]] plan::Index peak_bytes() const { return peak_bytes_.load(); }
  [[nodiscard]] plan::Index live_buffers() const { return live_buffers_.load(); }
  [[nodiscard]] plan::Index peak_buffers() const { return peak_buffers_.load(); }

 private:
  friend class Buffer;
  void add(plan::Index bytes);
  void remove(plan::Index bytes);
  std::atomic<plan::Index> live_bytes_{0};
  std::atomic<plan::Index> peak_bytes_{0};
  std::atomic<plan::Index> live_buffers_{0};
  std::atomic<plan::Index> peak_buffers_{0};
};

}  // namespace tdsl::rt
