#include "runtime/kernels/sparse_random.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

using namespace tdsl::rt;

namespace {

using Drawn = std::vector<std::pair<std::uint64_t, double>>;

Drawn drawn(double density, std::uint64_t first, std::uint64_t last, std::uint64_t site = 3) {
  Drawn list;
  for_each_drawn(random_stream(7, site), density, first, last,
                 [&](std::uint64_t index, double value) { list.emplace_back(index, value); });
  return list;
}

}  // namespace

TEST_CASE("sparse random: parts of the range give the elements of the whole") {
  for (const double density : {1e-3, 0.02, 0.3, 0.99, 1.0}) {
    const Drawn whole = drawn(density, 0, 20000);
    for (const std::uint64_t step : {1U, 7U, 64U, 4097U}) {
      Drawn parts;
      for (std::uint64_t first = 0; first < 20000; first += step) {
        const Drawn part = drawn(density, first, std::min<std::uint64_t>(first + step, 20000));
        parts.insert(parts.end(), part.begin(), part.end());
      }
      CHECK(parts == whole);
    }
  }
}

TEST_CASE("sparse random: elements ascend, have the values of random(), and are there independently of each other") {
  constexpr std::uint64_t kCount = 400000;
  for (const double density : {0.005, 0.1, 0.5, 0.9}) {
    const Drawn list = drawn(density, 0, kCount);
    double pairs = 0;
    for (std::size_t k = 0; k < list.size(); ++k) {
      CHECK(list[k].first < kCount);
      CHECK(list[k].second == uniform_f64(random_stream(7, 3), list[k].first));
      if (k > 0) {
        CHECK(list[k - 1].first < list[k].first);
        pairs += list[k].first == list[k - 1].first + 1 ? 1 : 0;
      }
    }
    const auto near = [](double seen, double mean) { return std::fabs(seen - mean) < 5 * std::sqrt(mean) + 1; };
    CHECK(near(static_cast<double>(list.size()), density * kCount));
    CHECK(near(pairs, density * density * kCount));
  }
}

TEST_CASE("sparse random: densities at the ends, other streams, and ranges far out") {
  CHECK(drawn(0, 0, 1000).empty());
  CHECK(drawn(std::nan(""), 0, 1000).empty());
  CHECK(drawn(1, 5, 1000).size() == 995);
  CHECK(drawn(1e-300, 0, std::uint64_t{1} << 63).empty());
  CHECK(drawn(0.1, 0, 1000) != drawn(0.1, 0, 1000, 4));
  const std::uint64_t far = ~std::uint64_t{0} - 5000;
  const Drawn end = drawn(0.1, far, ~std::uint64_t{0});
  CHECK(end.size() > 350);
  CHECK(end.size() < 650);
  CHECK(drawn(1e-15, 0, 9'000'000'000'000'000'000ULL).size() > 8000);
}
