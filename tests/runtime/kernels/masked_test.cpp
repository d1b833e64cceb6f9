#include "runtime/kernels/lines/masked.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "runtime/kernels/lines/rank.h"
#include "runtime/kernels/simd_level.h"

// Reductions with masks against reductions of values chosen one by one, at every SIMD level; counts by search against
// counts one by one.

namespace tdsl::tests::masked {

namespace {

using rt::Index;
using rt::Interval;
using rt::SimdLevel;
namespace lanes = rt::lanes;

template <class T>
struct Line {
  std::vector<T> key, value;
  T low, high;
};

/// Keys and values among them nan, inf and zeros of both signs.
template <class T>
Line<T> line(std::mt19937& random, Index n) {
  const auto draw = [&]() -> T {
    const auto number = static_cast<T>(static_cast<int>(random() % 17) - 8);
    if constexpr (std::is_floating_point_v<T>) {
      constexpr T kSpecial[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                                -std::numeric_limits<T>::infinity(), T{0}, -T{0}};
      if (random() % 8 == 0) return kSpecial[random() % 5];
      return number / T{3};
    } else {
      return number;
    }
  };
  Line<T> made{{}, {}, draw(), draw()};
  for (Index k = 0; k < n; ++k) {
    made.key.push_back(draw());
    made.value.push_back(draw());
  }
  return made;
}

/// The reductions of all elements with a select for the mask.
template <class T>
std::vector<T> reference(const Line<T>& x, Interval range) {
  const auto chosen = [&](T skipped) {
    return [&x, skipped](Index k) {
      const auto at = static_cast<std::size_t>(k);
      return x.low <= x.key[at] && x.key[at] < x.high ? x.value[at] : skipped;
    };
  };
  const auto reduced = [&](T identity, T skipped, const auto& combine) {
    return lanes::reduce<lanes::kBytes>(range, identity, combine, chosen(skipped));
  };
  const T none = std::is_floating_point_v<T> ? -T{0} : T{0};
  return {reduced(T{0}, none, [](T a, T b) { return rt::scalar::add(a, b); }),
          reduced(T{1}, T{1}, [](T a, T b) { return rt::scalar::multiply(a, b); }),
          reduced(rt::scalar::min_identity<T>(), rt::scalar::min_identity<T>(),
                  [](T a, T b) { return rt::scalar::least(a, b); }),
          reduced(rt::scalar::max_identity<T>(), rt::scalar::max_identity<T>(),
                  [](T a, T b) { return rt::scalar::greatest(a, b); })};
}

template <class T, lanes::Evaluate Which>
struct Masked {
  [[gnu::always_inline]] static void run(const Line<T>& x, Interval range, std::vector<T>* results) {
    const T* const key = x.key.data();
    const T* const value = x.value.data();
    const T low = x.low, high = x.high;
    const auto mask = [=](Index k) { return (low <= key[k]) & (key[k] < high); };
    const auto f = [=](Index k) { return value[k]; };
    *results = {lanes::sum_where<T, Which>(range, mask, f), lanes::product_where<T, Which>(range, mask, f),
                lanes::least_where<T, Which>(range, mask, f), lanes::greatest_where<T, Which>(range, mask, f)};
  }
};

template <class T>
bool same_bits(T a, T b) {
  if (a != a && b != b) return true;
  if constexpr (std::is_floating_point_v<T>) {
    return a == b && std::signbit(a) == std::signbit(b);
  } else {
    return a == b;
  }
}

template <class T>
void check_masked(std::mt19937& random, Index n) {
  const Line<T> x = line<T>(random, n);
  const Interval range{static_cast<Index>(random() % 3), n};
  const std::vector<T> expected = reference(x, range);
  const auto check = [&](const std::vector<T>& results) {
    for (std::size_t k = 0; k < expected.size(); ++k) {
      CAPTURE(n);
      CAPTURE(k);
      CHECK(same_bits(results[k], expected[k]));
    }
  };
  std::vector<T> results;
  rt::detail::at_level<SimdLevel::kAvx512, Masked<T, lanes::kAll>>(x, range, &results);
  check(results);
  rt::detail::at_level<SimdLevel::kAvx512, Masked<T, lanes::kMembers>>(x, range, &results);
  check(results);
}

}  // namespace

TEST_CASE("masked: reductions where a mask holds have the bits of skipping the other elements") {
  std::mt19937 random(79);
  for (Index n = 3; n < 70; ++n) {
    check_masked<double>(random, n);
    check_masked<float>(random, n);
    check_masked<std::int64_t>(random, n);
    check_masked<std::int32_t>(random, n);
  }
}

TEST_CASE("masked: values that do not count are not evaluated where they may stop the run") {
  const auto even = [](Index k) { return k % 2 == 0; };
  Index evaluated = 0;
  const double sum = lanes::sum_where<double, lanes::kMembers>(Interval{0, 100}, even, [&](Index k) {
    ++evaluated;
    CHECK(k % 2 == 0);
    return static_cast<double>(k);
  });
  CHECK(sum == 2450.0);
  CHECK(evaluated == 50);
}

TEST_CASE("rank: elements up to a value are found by search as by counting, also if they repeat or do not ascend") {
  std::mt19937 random(80);
  for (int round = 0; round < 3000; ++round) {
    const auto n = static_cast<Index>(random() % 40);
    std::vector<double> e;
    double at = -3;
    for (Index k = 0; k < n; ++k) {
      e.push_back(round % 5 == 0 && k == 0 ? -std::numeric_limits<double>::infinity() : at);
      at += round % 3 == 0 ? 1.0 : static_cast<double>(random() % 4) * (round % 7 == 0 ? 1e300 : 0.5);
    }
    const auto element = [&](Index k) { return e[static_cast<std::size_t>(k)]; };
    std::vector<double> values{-4, 100, std::nan(""), std::numeric_limits<double>::infinity()};
    for (const double x : e) values.insert(values.end(), {x, std::nextafter(x, -1e9), x + 0.2});
    for (const double x : values) {
      CHECK(rt::count_up_to(Interval{0, n}, x, element) == std::ranges::count_if(e, [&](double y) { return y <= x; }));
      CHECK(rt::count_below(Interval{0, n}, x, element) == std::ranges::count_if(e, [&](double y) { return y < x; }));
    }
    std::ranges::shuffle(e, random);
    const Index count = rt::count_up_to(Interval{0, n}, 0.0, element);
    CHECK((0 <= count && count <= n));
  }
}

}  // namespace tdsl::tests::masked
