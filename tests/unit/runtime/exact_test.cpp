#include "runtime/exact.h"

#include <doctest/doctest.h>

#include <array>
#include <limits>

#include "ir/graph/extent.h"
#include "runtime/check.h"
#include "runtime/plan/op.h"
#include "runtime/size.h"

using tdsl::rt::Exact;

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

}  // namespace

TEST_CASE("exact: what leaves 64 bits is known to") {
  CHECK((Exact(kMost) + 1 - 1).in_64_bits() == kMost);
  CHECK((Exact(3) * -4).in_64_bits() == -12);
  CHECK_FALSE((Exact(kMost) + 1).in_64_bits());
  CHECK((Exact(kMost) + 1).text() == "more than 9223372036854775807");
  CHECK((Exact(kLeast) * kMost).text() == "less than -9223372036854775808");
  CHECK(Exact(0) <= Exact(std::int64_t{1} << 32) * (std::int64_t{1} << 32));
  CHECK_FALSE(Exact(std::int64_t{1} << 32) * (std::int64_t{1} << 32) == Exact(0));
}

TEST_CASE("exact: what leaves 128 bits is lost") {
  const Exact huge = Exact(kMost) * kMost * kMost;
  CHECK_FALSE((huge - huge).in_64_bits());
  CHECK_FALSE(huge == huge);
  CHECK_FALSE(huge <= kMost);
  CHECK_FALSE(Exact(0) <= huge);
  CHECK(tdsl::rt::with_sizes("{left} and {right}", huge, -7) == "beyond 64 bits and -7");
}

TEST_CASE("exact: extents wrap, and do not") {
  const tdsl::ir::Extent n = tdsl::ir::Extent::of({0});
  const auto value = [](tdsl::ir::ValueId) { return std::int64_t{1} << 32; };
  CHECK((n * n).evaluate(value) == 0);
  CHECK((n * n).evaluate_exactly(value).text() == "more than 9223372036854775807");
  CHECK((n * n - n * n + 2 * n).evaluate_exactly(value).in_64_bits() == std::int64_t{1} << 33);
}

TEST_CASE("exact: a loop's next value stays in 64 bits") {
  CHECK(tdsl::rt::advanced(3, -5) == -2);
  CHECK(tdsl::rt::advanced(kMost - 1, 5) == kMost);
  CHECK(tdsl::rt::advanced(kLeast + 1, -5) == kLeast);
}

TEST_CASE("sizes: bytes are counted without wrapping") {
  const auto legal = [](auto... extents) {
    return tdsl::rt::is_legal_size(std::array<std::int64_t, sizeof...(extents)>{extents...}, 8);
  };
  CHECK(legal(std::int64_t{1} << 50));
  CHECK_FALSE(legal((std::int64_t{1} << 50) + 1));
  CHECK_FALSE(legal(std::int64_t{3037000500}, std::int64_t{3037000500}));
  CHECK_FALSE(legal(std::int64_t{1} << 62, std::int64_t{1} << 62));
  CHECK_FALSE(legal(std::int64_t{0}, std::int64_t{1} << 62));
  CHECK_FALSE(legal(std::int64_t{-1}));
  const std::array<std::int64_t, 2> shape{7, std::int64_t{1} << 62};
  CHECK(tdsl::rt::too_large_text("A", "f64", shape) ==
        "A is f64[7, 4611686018427387904], which is too large: a tensor has at most 2^53 bytes");
  tdsl::plan::TensorDesc parts;
  parts.shape = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  CHECK(parts.bytes() == kMost);
}
