#include "runtime/engine/store/store.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>

#include "runtime/base/number_format.h"
#include "runtime/check.h"
#include "runtime/engine/store/shared_windows.h"

namespace tdsl::rt {

namespace {

constexpr int kAlignmentBits = 6;
constexpr plan::Index kAlignment = 1 << kAlignmentBits;
constexpr plan::Index kPage = 4096;
constexpr std::size_t kHugePage = 2 << 20;
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeeps = false;  // to detect reads of freed buffers
#else
constexpr bool kKeeps = true;
#endif

/// From this size on memory is mapped directly, so that freed memory returns to the system.
constexpr plan::Index kMappedFrom = kKeeps ? plan::Index{256} << 10 : std::numeric_limits<plan::Index>::max();

std::size_t rounded(plan::Index bytes, plan::Index unit) {
  return static_cast<std::size_t>((bytes + unit - 1) / unit * unit);
}

/// Pages mapped from the system; null if it refuses.
std::byte* map_pages(std::size_t bytes) {
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

// Note [Huge pages]
// The first write to a page of 4 KiB costs the system more than a kernel takes to read it, and a product of 8000 x 1000
// x 8000 spent a quarter of its processor time there. Pages of 2 MiB cost a quarter of that. They are requested where a
// buffer fills them, so that a buffer never takes more memory than otherwise: `wanted` is the number of bytes written,
// `bytes` the number of bytes mapped.
std::byte* map_huge_pages(plan::Index bytes, plan::Index wanted) {
  const std::size_t length = rounded(bytes, kPage);
  std::byte* const mapped = map_pages(length + kHugePage);
  if (mapped == nullptr) return nullptr;
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(mapped) % kHugePage) % kHugePage;
  std::byte* const data = mapped + before;
  if (before > 0) ::munmap(mapped, before);
  ::munmap(data + length, kHugePage - before);
  ::madvise(data, static_cast<std::size_t>(wanted) / kHugePage * kHugePage,
            MADV_HUGEPAGE);  // a hint: correct without them
  return data;
}

/// `bytes` of memory, of which the first `wanted` will be used; null if the system refuses.
std::byte* new_memory(plan::Index bytes, plan::Index wanted) {
  if (bytes < kMappedFrom)
    return static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded(bytes + 1, kAlignment)));
  if (wanted < static_cast<plan::Index>(kHugePage)) return map_pages(rounded(bytes, kPage));
  return map_huge_pages(bytes, wanted);
}

void free_memory(std::byte* data, plan::Index bytes) {
  if (data == nullptr) return;
  if (bytes < kMappedFrom) {
    std::free(data);
  } else {
    ::munmap(data, rounded(bytes, kPage));
  }
}

void raise_to(std::atomic<plan::Index>& peak, plan::Index value) {
  plan::Index seen = peak.load();
  while (seen < value && !peak.compare_exchange_weak(seen, value)) {}
}

}  // namespace

Buffer::Buffer(Store& store, plan::Index bytes, bool windowed) : store_(store), bytes_(bytes), windowed_(windowed) {
  data_ = store.take(bytes, windowed);
  if (data_ == nullptr) {
    throw RunError("out of memory: a block of " + format_bytes(bytes) + " could not be allocated; this rank holds " +
                   format_bytes(store.live_bytes()) + " in blocks [out-of-memory]");
  }
  store_.add(bytes_);
}

Buffer::~Buffer() {
  if (lent_) return;
  store_.remove(bytes_);
  store_.give_back(data_, bytes_, windowed_);
}

// A size class adds at most an eighth, so that buffers of nearly the same size can reuse it. Untouched pages cost
// nothing.
plan::Index KeptMemory::size_class(plan::Index bytes) {
  if (bytes <= 8 * kAlignment) return std::max<plan::Index>(1, (bytes + kAlignment - 1) / kAlignment) * kAlignment;
  const auto unit = static_cast<plan::Index>(std::bit_floor(static_cast<std::uint64_t>(bytes)) / 8);
  return (bytes + unit - 1) / unit * unit;
}

/// Of a size class.
std::size_t KeptMemory::number_of(plan::Index bytes) {
  const auto size = static_cast<std::uint64_t>(bytes);
  const int shift = static_cast<int>(std::bit_width(size)) - 4;  // the size is 8 to 15 units of 2^shift
  if (shift < kAlignmentBits) return static_cast<std::size_t>(size >> kAlignmentBits);
  return static_cast<std::size_t>(8 * (shift - kAlignmentBits)) + static_cast<std::size_t>(size >> shift);
}

void KeptMemory::add(std::byte* data, plan::Index bytes) {
  classes_[number_of(bytes)].push_back(data);
  bytes_ += bytes;
}

std::byte* KeptMemory::take(plan::Index bytes) {
  std::vector<std::byte*>& list = classes_[number_of(bytes)];
  if (list.empty()) return nullptr;
  std::byte* const data = list.back();
  list.pop_back();
  bytes_ -= bytes;
  return data;
}

KeptMemory::Piece KeptMemory::take_largest() {
  for (std::size_t k = classes_.size(); k-- > 0;) {
    if (classes_[k].empty()) continue;
    const std::size_t octave = k < 8 ? 0 : k / 8 - 1;
    const auto bytes = static_cast<plan::Index>((k - 8 * octave) << (octave + kAlignmentBits));
    return {take(bytes), bytes};
  }
  return {};
}

ObjectMemory::~ObjectMemory() {
  for (void* memory : free_) ::operator delete(memory);
}

void* ObjectMemory::take(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty() && bytes == bytes_) {
      void* const memory = free_.back();
      free_.pop_back();
      return memory;
    }
    bytes_ = bytes_ == 0 ? bytes : bytes_;
  }
  return ::operator new(bytes);
}

void ObjectMemory::give_back(void* memory, std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (kKeeps && bytes == bytes_) return free_.push_back(memory);
  }
  ::operator delete(memory);
}

namespace {

/// Allocates from an ObjectMemory, which outlives the objects.
template <class T>
struct ObjectAllocator {
  using value_type = T;
  ObjectMemory* memory;
  explicit ObjectAllocator(ObjectMemory* m) : memory(m) {}
  template <class U>
  ObjectAllocator(const ObjectAllocator<U>& other) : memory(other.memory) {}
  T* allocate(std::size_t n) { return static_cast<T*>(memory->take(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) { memory->give_back(p, n * sizeof(T)); }
  friend bool operator==(const ObjectAllocator& a, const ObjectAllocator& b) { return a.memory == b.memory; }
};

}  // namespace

BufferRef Store::new_buffer(plan::Index bytes, bool windowed) {
  return std::allocate_shared<Buffer>(ObjectAllocator<Buffer>(&objects_), *this, bytes, windowed);
}

BufferRef Store::allocate(plan::Index bytes) { return new_buffer(bytes, false); }

BufferRef Store::allocate_block(plan::Index bytes) {
  return new_buffer(bytes, windows_ != nullptr && windows_->has(bytes));
}

void Store::share(std::unique_ptr<SharedWindows> windows) {
  const std::lock_guard lock(mutex_);
  TDSL_CHECK(live_buffers_ == 0 && windows_ == nullptr, "windows are opened before the first block");
  windows_ = std::move(windows);
}

Store::Store() = default;
Store::~Store() { shrink(0); }

/// Returns kept memory to the system until at most that many bytes are kept.
void Store::shrink(plan::Index most) {
  while (kept_bytes() > most) {
    const bool windowed = kept_.bytes() == 0;
    const KeptMemory::Piece largest = (windowed ? kept_windowed_ : kept_).take_largest();
    if (windowed)
      windows_->own().give_back(largest.data, largest.bytes);
    else
      free_memory(largest.data, largest.bytes);
  }
}

void Store::end_run(plan::Index most) {
  const std::lock_guard lock(mutex_);
  TDSL_CHECK(live_buffers_ == 0, "no run uses the store");
  shrink(most);
  peak_bytes_ = largest_buffer_bytes_ = 0;
  peak_held_bytes_ = kept_bytes();
}

/// Limit on live and kept bytes together.
plan::Index Store::most_held() const {
  return limit_ > 0 ? std::min<plan::Index>(peak_held_bytes_, limit_) : peak_held_bytes_.load();
}

/// The same as new_memory for either kind.
std::byte* Store::new_pages(plan::Index bytes, plan::Index wanted, bool windowed) {
  return windowed ? windows_->own().take(bytes, wanted) : new_memory(bytes, wanted);
}

std::byte* Store::take(plan::Index wanted, bool windowed) {
  const std::lock_guard lock(mutex_);
  if (!kKeeps && !keeps_all_) return new_pages(wanted, wanted, windowed);
  const plan::Index bytes = KeptMemory::size_class(wanted);
  if (std::byte* const data = (windowed ? kept_windowed_ : kept_).take(bytes)) {
    // Near the limit, pages beyond the new use that an earlier use has touched are returned.
    if (limit_ > 0 && bytes >= kMappedFrom && held_bytes_ + kept_bytes() + bytes > limit_ - limit_ / 8) {
      const std::size_t used = rounded(wanted, kPage);
      if (used < rounded(bytes, kPage))
        ::madvise(data + used, rounded(bytes, kPage) - used, windowed ? MADV_REMOVE : MADV_DONTNEED);
    }
    return data;
  }
  while (!keeps_all_ && kept_bytes() > 0 && held_bytes_ + kept_bytes() + bytes > most_held()) shrink(kept_bytes() - 1);
  return new_pages(bytes, wanted, windowed);
}

void Store::give_back(std::byte* data, plan::Index wanted, bool windowed) {
  const bool keeps = kKeeps || keeps_all_;
  const plan::Index bytes = keeps ? KeptMemory::size_class(wanted) : wanted;
  {
    const std::lock_guard lock(mutex_);
    if (keeps && (keeps_all_ || held_bytes_ + kept_bytes() + bytes <= most_held()))
      return (windowed ? kept_windowed_ : kept_).add(data, bytes);
    if (windowed) return windows_->own().give_back(data, bytes);
  }
  free_memory(data, bytes);
}

void Store::add(plan::Index bytes) {
  raise_to(peak_held_bytes_, held_bytes_ += KeptMemory::size_class(bytes));
  raise_to(peak_bytes_, live_bytes_ += bytes);
  ++live_buffers_;
  raise_to(largest_buffer_bytes_, bytes);
}

void Store::remove(plan::Index bytes) {
  held_bytes_ -= KeptMemory::size_class(bytes);
  live_bytes_ -= bytes;
  --live_buffers_;
}

}  // namespace tdsl::rt
