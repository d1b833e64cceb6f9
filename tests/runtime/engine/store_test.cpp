#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/engine/store/store.h"
#include "tests/runtime/allocations.h"

namespace tdsl::tests {

#if !defined(__SANITIZE_ADDRESS__)

TEST_CASE("store: freed large buffers are reused, and kept ones stay within the peak") {
  constexpr plan::Index kLarge = 1 << 20;
  rt::Store store;
  rt::BufferRef a = store.allocate(kLarge);
  const std::byte* const first = a->data();
  a.reset();
  CHECK(store.kept_bytes() == kLarge);
  a = store.allocate(kLarge);
  CHECK(a->data() == first);
  CHECK(store.kept_bytes() == 0);
  a.reset();
  // A different size does not reuse it, and both together would exceed the maximum ever live.
  rt::BufferRef b = store.allocate(kLarge / 2);
  CHECK(store.kept_bytes() + store.live_bytes() <= store.peak_bytes());
  b.reset();
  CHECK(store.kept_bytes() + store.live_bytes() <= store.peak_bytes());
  CHECK(store.peak_bytes() == kLarge);
}

TEST_CASE("store: between runs a bounded number of bytes is kept, and the next run has its own peak") {
  constexpr plan::Index kSmall = 64 << 10;
  rt::Store store;
  { const rt::BufferRef a = store.allocate(1 << 20), b = store.allocate(kSmall); }
  store.end_run(2 * kSmall);
  CHECK(store.kept_bytes() == kSmall);
  CHECK(store.peak_bytes() == 0);
  const rt::BufferRef c = store.allocate(kSmall);
  CHECK(store.kept_bytes() == 0);
  CHECK(store.peak_bytes() == kSmall);
}

TEST_CASE("store: a buffer of nearly the same size follows a freed one") {
  rt::Store store;
  rt::BufferRef a = store.allocate(8'000'000);
  const std::byte* const first = a->data();
  a.reset();
  CHECK(store.kept_bytes() >= 8'000'000);
  a = store.allocate(7'990'000);
  CHECK(a->data() == first);
  CHECK(store.live_bytes() == 7'990'000);
}

TEST_CASE("store: small buffers of every size are kept, and taken again without an allocation") {
  rt::Store store;
  for (const plan::Index bytes : {0, 1, 64, 65, 500, 520, 1000, 4096, 70'000, 255 << 10}) {
    CAPTURE(bytes);
    rt::BufferRef a = store.allocate(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(a->data()) % 64 == 0);
    const std::byte* const first = a->data();
    a.reset();
    CHECK(store.kept_bytes() >= bytes);
    const std::size_t before = allocations();
    a = store.allocate(bytes);
    a.reset();
    a = store.allocate(bytes);
    CHECK(allocations() == before);
    CHECK(a->data() == first);
  }
  CHECK(store.live_buffers() == 0);
}

TEST_CASE("store: size classes hold their sizes, and the largest kept memory goes first") {
  for (plan::Index bytes = 0; bytes < (1 << 20); bytes += 1 + bytes / 50) {
    const plan::Index size = rt::KeptMemory::size_class(bytes);
    CAPTURE(bytes);
    CHECK(size >= bytes);
    CHECK(size <= std::max<plan::Index>(64, bytes + 64 + bytes / 8));
    CHECK(rt::KeptMemory::size_class(size) == size);
  }
  rt::KeptMemory kept;
  std::vector<std::byte> memory(4);
  const std::vector<plan::Index> sizes{64, 448, 512, 576, 960, 1024, 1152, plan::Index{1} << 40, plan::Index{15} << 40};
  for (const plan::Index size : sizes) kept.add(memory.data(), size);
  CHECK(kept.take(640) == nullptr);
  CHECK(kept.take(960) == memory.data());
  for (std::size_t k = sizes.size(); k-- > 0;) {
    if (sizes[k] == 960) continue;
    CHECK(kept.take_largest().bytes == sizes[k]);
  }
  CHECK(kept.take_largest().data == nullptr);
  CHECK(kept.bytes() == 0);
}

#endif

}  // namespace tdsl::tests
