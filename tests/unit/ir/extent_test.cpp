#include "ir/graph/extent.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <stdexcept>

#include "ir/eval/small_sums.h"
#include "ir/graph/expr.h"
#include "ir/graph/extent_facts.h"

using namespace tdsl::ir;

namespace {

const Extent n = Extent::of({0});
const Extent m = Extent::of({1});

std::string text(const Extent& e) {
  return e.to_string([](ValueId v) { return std::string(1, "nmk"[v.id]); });
}

std::int64_t value(const Extent& e, std::int64_t n_value, std::int64_t m_value) {
  return e.evaluate([&](ValueId v) { return v.id == 0 ? n_value : m_value; });
}

}  // namespace

TEST_CASE("extent: equal polynomials compare equal") {
  CHECK((n + m) * (n - m) == n * n - m * m);
  CHECK(n + 1 - 1 == n);
  CHECK(n - n == Extent(0));
  CHECK_FALSE(n == m);
  CHECK_FALSE(n * m == n * n);
  CHECK(Extent::quotient(n + m, 2) == Extent::quotient(m + n, 2));
}

TEST_CASE("extent: quotients and remainders") {
  CHECK(Extent::quotient(-7, 2) == Extent(-3));
  CHECK(Extent::remainder(-7, 2) == Extent(-1));
  CHECK(Extent::quotient(n * 4 + 8, 4) == n + 2);
  CHECK(Extent::remainder(n * 4 + 8, 4) == Extent(0));
  CHECK(value(Extent::quotient(n, m), -7, 2) == -3);
  CHECK(value(Extent::remainder(n, m), -7, 2) == -1);
  CHECK_THROWS_AS(static_cast<void>(value(Extent::quotient(n, m), 1, 0)), std::domain_error);
  // A division by 0 must be preserved.
  CHECK_FALSE(Extent::quotient(n * m, m) == n);
}

TEST_CASE("extent: values, constants and substitution") {
  CHECK(Extent(5).constant() == 5);
  CHECK_FALSE(n.constant().has_value());
  CHECK(n.as_value() == ValueId{0});
  CHECK_FALSE((n * 2).as_value().has_value());
  CHECK((m + Extent::quotient(n, 2)).values() == std::vector<ValueId>{{0}, {1}});
  const auto doubled = (n + Extent::quotient(n, 4)).substitute([](ValueId) { return std::optional(m * 8); });
  CHECK(doubled == m * 10);
}

TEST_CASE("extent: text") {
  CHECK(text(n * 2 + 1) == "2*n + 1");
  CHECK(text(Extent() - n + 3) == "-n + 3");
  CHECK(text(n * m * 3 - m) == "3*n*m - m");
  CHECK(text(Extent::quotient(n + 1, 2) * 4) == "4*((n + 1)/2)");
  CHECK(text(Extent::remainder(n, m)) == "n%m");
  CHECK(text(Extent()) == "0");
}

TEST_CASE("extent: compile-time comparison") {
  const auto only_n_and_m = [](ValueId v) { return v.id < 2; };
  CHECK(compare(n + 1, n + 1, only_n_and_m) == ExtentOrder::kEqual);
  CHECK(compare(n + 1, n, only_n_and_m) == ExtentOrder::kDifferent);
  CHECK(compare(n, m, only_n_and_m) == ExtentOrder::kDifferent);
  CHECK(compare(n, m * 2, only_n_and_m) == ExtentOrder::kUnknown);
  CHECK(compare(n, Extent::of({2}), only_n_and_m) == ExtentOrder::kUnknown);
  CHECK(compare(n, 3, only_n_and_m) == ExtentOrder::kUnknown);
}

TEST_CASE("extent: products that say nothing are not made") {
  Extent sum = n + m + 1;
  int squarings = 0;
  while (const auto square = product_if_small(sum, sum)) {
    sum = *square;
    ++squarings;
  }
  CHECK(squarings == 3);
  CHECK(degree_of(sum) == 8);
  const auto sum_for_n = [&](ValueId v) { return v.id == 0 ? std::optional(sum) : std::nullopt; };
  CHECK(substitute_if_small(n + m, sum_for_n) == sum + m);
  CHECK(substitute_if_small(Extent::quotient(n, m), sum_for_n) == Extent::quotient(sum, m));
  CHECK_FALSE(substitute_if_small(n * n * n * n, sum_for_n));
  CHECK_FALSE(substitute_if_small(Extent::quotient(m, n * n * n * n), sum_for_n));
}

TEST_CASE("extent: affine forms whose coefficients leave 64 bits are none") {
  const auto no_value = [](ValueId v) { return Extent::of(v); };
  const auto times = [](const Expr& a, std::int64_t factor) { return binary(BinaryOp::kMul, a, constant_i64(factor)); };
  const Expr i = index_ref(0);
  const std::int64_t half = std::int64_t{1} << 62;
  const auto large = affine_in_labels(times(i, half), no_value);
  REQUIRE(large);
  CHECK(large->coefficients.at(0) == half);
  CHECK_FALSE(affine_in_labels(times(times(i, half), 4), no_value));
  CHECK_FALSE(affine_in_labels(binary(BinaryOp::kAdd, times(i, half), times(i, half)), no_value));
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  CHECK_FALSE(affine_in_labels(binary(BinaryOp::kSub, i, times(i, least)), no_value));
  const auto none = affine_in_labels(binary(BinaryOp::kSub, times(i, half), times(i, half)), no_value);
  CHECK((none && none->coefficients.empty()));
}

TEST_CASE("extent: sums of sizes and small numbers cannot wrap around") {
  const auto is_size = [](const Extent& product) { return product == n || product == n * m; };
  CHECK(is_small_sum(n + n * m - 5, is_size));
  CHECK(is_small_sum(Extent(0) - n + (std::int64_t{1} << 32), is_size));
  CHECK_FALSE(is_small_sum(n + (std::int64_t{1} << 32) + 1, is_size));
  CHECK_FALSE(is_small_sum(n + n, is_size));
  CHECK_FALSE(is_small_sum(m, is_size));
  CHECK_FALSE(is_small_sum(Extent(std::numeric_limits<std::int64_t>::min()), is_size));
}
