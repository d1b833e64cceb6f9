#include "runtime/engine/store/store.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <string>

#include "runtime/base/number_format.h"
#include "runtime/check.h"

namespace tdsl::rt {

namespace {

constexpr plan::Index kAlignment = 64;
constexpr plan::Index kPage = 4096;
constexpr std::size_t kHugePage = 2 << 20;
#if defined(__SANITIZE_ADDRESS__)
constexpr plan::Index kKeptFrom = std::numeric_limits<plan::Index>::max();  // to detect reads of freed buffers
#else
constexpr plan::Index kKeptFrom = 4 << 10;
#endif

/// From this size on memory is mapped directly, so that freed memory returns to the system.
constexpr plan::Index kMappedFrom = std::max<plan::Index>(256 << 10, kKeptFrom);

std::size_t rounded(plan::Index bytes, plan::Index unit) {
  return static_cast<std::size_t>((bytes + unit - 1) / unit * unit);
}

/// Allocated size of a buffer that may be kept: rounded up by at most an eighth of a power of two, so that buffers of
/// nearly the same size can reuse it. Untouched pages cost nothing.
plan::Index size_class(plan::Index bytes) {
  if (bytes < kKeptFrom) return bytes;
  const auto unit = static_cast<plan::Index>(std::bit_floor(static_cast<std::uint64_t>(bytes)) / 8);
  return (bytes + unit - 1) / unit * unit;
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

Buffer::Buffer(Store& store, plan::Index bytes) : store_(store), bytes_(bytes) {
  data_ = store.take(bytes);
  if (data_ == nullptr) {
    throw RunError("out of memory: a block of " + format_bytes(bytes) + " could not be allocated; this rank holds " +
                   format_bytes(store.live_bytes()) + " in blocks");
  }
  store_.add(bytes_);
}

Buffer::~Buffer() {
  if (lent_) return;
  store_.remove(bytes_);
  store_.give_back(data_, bytes_);
}

BufferRef Store::allocate(plan::Index bytes) { return std::make_shared<Buffer>(*this, bytes); }

Store::~Store() {
  for (const auto& [bytes, data] : kept_) free_memory(data, bytes);
}

/// Limit on live and kept bytes together.
plan::Index Store::most_held() const {
  return limit_ > 0 ? std::min<plan::Index>(peak_held_bytes_, limit_) : peak_held_bytes_.load();
}

std::byte* Store::take(plan::Index wanted) {
  const plan::Index bytes = size_class(wanted);
  if (bytes < kKeptFrom) return new_memory(bytes, wanted);
  const std::lock_guard lock(mutex_);
  if (const auto same = kept_.find(bytes); same != kept_.end()) {
    std::byte* const data = same->second;
    kept_.erase(same);
    kept_bytes_ -= bytes;
    // Near the limit, pages beyond the new use that an earlier use has touched are returned.
    if (limit_ > 0 && bytes >= kMappedFrom && held_bytes_ + kept_bytes_ + bytes > limit_ - limit_ / 8) {
      const std::size_t used = rounded(wanted, kPage);
      if (used < rounded(bytes, kPage)) ::madvise(data + used, rounded(bytes, kPage) - used, MADV_DONTNEED);
    }
    return data;
  }
  while (!kept_.empty() && held_bytes_ + kept_bytes_ + bytes > most_held()) {
    const auto largest = std::prev(kept_.end());
    free_memory(largest->second, largest->first);
    kept_bytes_ -= largest->first;
    kept_.erase(largest);
  }
  return new_memory(bytes, wanted);
}

void Store::give_back(std::byte* data, plan::Index wanted) {
  const plan::Index bytes = size_class(wanted);
  if (bytes < kKeptFrom) {
    free_memory(data, bytes);
    return;
  }
  const std::lock_guard lock(mutex_);
  if (held_bytes_ + kept_bytes_ + bytes > most_held()) {
    free_memory(data, bytes);
    return;
  }
  kept_.emplace(bytes, data);
  kept_bytes_ += bytes;
}

void Store::add(plan::Index bytes) {
  raise_to(peak_held_bytes_, held_bytes_ += size_class(bytes));
  raise_to(peak_bytes_, live_bytes_ += bytes);
  ++live_buffers_;
  raise_to(largest_buffer_bytes_, bytes);
}

void Store::remove(plan::Index bytes) {
  held_bytes_ -= size_class(bytes);
  live_bytes_ -= bytes;
  --live_buffers_;
}

}  // namespace tdsl::rt
