#include "tests/runtime/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> largest{0};
std::atomic<std::size_t> number{0};

}  // namespace

std::size_t tdsl::tests::take_largest_allocation() { return largest.exchange(0); }
std::size_t tdsl::tests::allocations() { return number.load(); }

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

void* allocate(std::size_t bytes, std::size_t alignment) {
  number.fetch_add(1, std::memory_order_relaxed);
  std::size_t most = largest.load(std::memory_order_relaxed);
  while (most < bytes && !largest.compare_exchange_weak(most, bytes, std::memory_order_relaxed)) {}
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// All other overloads call these.
void* operator new(std::size_t bytes) { return allocate(bytes == 0 ? 1 : bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes == 0 ? 1 : bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#endif
