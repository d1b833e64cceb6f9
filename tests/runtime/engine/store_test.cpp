#include <doctest/doctest.h>

#include "runtime/engine/store/store.h"

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

TEST_CASE("store: small buffers are not kept") {
  rt::Store store;
  store.allocate(1000).reset();
  CHECK(store.kept_bytes() == 0);
  CHECK(store.live_buffers() == 0);
}

#endif

}  // namespace tdsl::tests
