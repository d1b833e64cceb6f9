#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/plan/space/index.h"

namespace tdsl::rt {

class SharedWindows;
class Store;

/// A block's memory: one buffer, freed with its last reference, 64-byte aligned.
class Buffer {
 public:
  /// `windowed`: in this rank's shared window.
  Buffer(Store& store, plan::Index bytes, bool windowed);
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
  bool windowed_ = false;
};
using BufferRef = std::shared_ptr<Buffer>;
/// 0 without a buffer.
[[nodiscard]] inline plan::Index bytes_of(const BufferRef& buffer) { return buffer != nullptr ? buffer->bytes() : 0; }

/// Freed memory by size class: eight per power of two, multiples of 64 bytes. Not thread-safe.
class KeptMemory {
 public:
  /// The size class that holds `bytes`.
  [[nodiscard]] static plan::Index size_class(plan::Index bytes);
  void add(std::byte* data, plan::Index bytes);
  /// Memory of the size class; null: none.
  [[nodiscard]] std::byte* take(plan::Index bytes);
  struct Piece {
    std::byte* data = nullptr;
    plan::Index bytes = 0;
  };
  /// Of the largest size class that has any; null: none.
  [[nodiscard]] Piece take_largest();
  [[nodiscard]] plan::Index bytes() const { return bytes_; }

 private:
  [[nodiscard]] static std::size_t number_of(plan::Index bytes);
  std::array<std::vector<std::byte*>, 8 * 61> classes_;
  plan::Index bytes_ = 0;
};

/// Memory for objects of one type, with their reference counts: freed ones are reused. Thread-safe.
class ObjectMemory {
 public:
  ObjectMemory() = default;
  ~ObjectMemory();
  ObjectMemory(const ObjectMemory&) = delete;
  ObjectMemory& operator=(const ObjectMemory&) = delete;
  [[nodiscard]] void* take(std::size_t bytes);
  void give_back(void* memory, std::size_t bytes);

 private:
  std::mutex mutex_;
  std::size_t bytes_ = 0;  ///< of each
  std::vector<void*> free_;
};

/// All block memory of a rank: owned blocks, received boxes, assembled boxes. Every byte is counted at allocation.
/// Freed buffers are kept for later buffers of nearly the same size, as long as kept and live bytes together stay
/// within the peak of the live ones: the system's allocator would split such holes, and the memory of programs with
/// loops would grow without bound. So a loop in its steady state allocates no buffer.
class Store {
 public:
  Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  /// Between runs, without live buffers: returns kept memory beyond `most` bytes to the system, and forgets the peaks.
  void end_run(plan::Index most);
  /// From now on keeps freed buffers only while kept and live bytes together stay within `bytes`.
  void limit(plan::Index bytes) { limit_ = bytes; }

  /// From now on keeps all freed memory for later buffers: addresses of buffers stay valid until the store's end.
  void keep_all() { keeps_all_ = true; }

  /// A new buffer; throws RunError ("out of memory" with sizes) if the system refuses.
  [[nodiscard]] BufferRef allocate(plan::Index bytes);
  /// A new buffer for a dense block of a tensor, which neighbours may read: a large one lies in the shared window.
  [[nodiscard]] BufferRef allocate_block(plan::Index bytes);

  /// Windows for blocks allocated from now on; null: none.
  void share(std::unique_ptr<SharedWindows> windows);
  [[nodiscard]] const SharedWindows* windows() const { return windows_.get(); }

  [[nodiscard]] plan::Index live_bytes() const { return live_bytes_.load(); }
  [[nodiscard]] plan::Index peak_bytes() const { return peak_bytes_.load(); }
  [[nodiscard]] plan::Index largest_buffer_bytes() const { return largest_buffer_bytes_.load(); }
  [[nodiscard]] plan::Index live_buffers() const { return live_buffers_.load(); }
  [[nodiscard]] plan::Index kept_bytes() const { return kept_.bytes() + kept_windowed_.bytes(); }

 private:
  friend class Buffer;
  /// Memory of that size, possibly reused; null if the system refuses.
  std::byte* take(plan::Index bytes, bool windowed);
  [[nodiscard]] std::byte* new_pages(plan::Index bytes, plan::Index wanted, bool windowed);
  [[nodiscard]] BufferRef new_buffer(plan::Index bytes, bool windowed);
  [[nodiscard]] plan::Index most_held() const;
  void give_back(std::byte* data, plan::Index bytes, bool windowed);
  void add(plan::Index bytes);
  void remove(plan::Index bytes);
  std::atomic<plan::Index> live_bytes_{0};
  std::atomic<plan::Index> peak_bytes_{0};
  std::atomic<plan::Index> largest_buffer_bytes_{0};
  std::atomic<plan::Index> live_buffers_{0};
  std::atomic<plan::Index> held_bytes_{0};  ///< live bytes by size classes, the measure for kept buffers
  std::atomic<plan::Index> peak_held_bytes_{0};
  void shrink(plan::Index most);
  plan::Index limit_ = 0;  ///< 0: none
  bool keeps_all_ = false;
  std::mutex mutex_;  ///< guards the kept memory and this rank's window
  KeptMemory kept_, kept_windowed_;
  std::unique_ptr<SharedWindows> windows_;
  ObjectMemory objects_;
};

}  // namespace tdsl::rt
