#include <array>
#include <string>
#include <vector>

#include "runtime/routines/calls.h"
#include "tests/runtime/engine/harness.h"

// filter and topk of bools, in all layouts, on all ranks of the test.

namespace tdsl::tests::filters {

namespace {

constexpr Index kRows = 300;

bool holds(Index i, int density) { return density == 0 ? false : (i * i + 3 * i) % density < 2; }

/// A source with element(subscripts) at every point.
template <class T, class F>
Tensor<T> source(TestSession& session, int site, std::vector<Index> shape, const F& element) {
  plan::OpBuilder op(plan::OpClass::kSource, "s", site, site);
  for (std::size_t d = 0; d < shape.size(); ++d) op.out(std::string(1, static_cast<char>('i' + d)), shape[d]);
  return session.compute<T>(op, [element, rank = shape.size()](const TaskArgs& args) {
    for (Index i = args.lo(0); i < args.hi(0); ++i) {
      if (rank == 1) {
        args.out<T, 1>()(i) = element(i, 0);
        continue;
      }
      for (Index j = args.lo(1); j < args.hi(1); ++j) args.out<T, 2>()(i, j) = element(i, j);
    }
  });
}

/// The rows where the mask holds, then the others.
std::vector<Index> order_of(int density) {
  std::vector<Index> order;
  for (const bool wanted : {true, false}) {
    for (Index i = 0; i < kRows; ++i) {
      if (holds(i, density) == wanted) order.push_back(i);
    }
  }
  return order;
}

void check_filter(const RunSettings& settings, int density, Index count) {
  const auto kept = values<double>(), rows = values<double>(), columns = values<double>();
  const auto places = values<std::int64_t>();
  run(settings, [&](TestSession& session) {
    const auto value = [](Index i, Index j) { return static_cast<double>(i) - 100 + 1000 * static_cast<double>(j); };
    const Tensor<double> x = source<double>(session, 1, {kRows}, value);
    const Tensor<double> a = source<double>(session, 2, {kRows, 5}, value);
    const Tensor<double> b = source<double>(session, 3, {5, kRows}, [value](Index j, Index i) { return value(i, j); });
    const Tensor<bool> mask =
        source<bool>(session, 4, {kRows}, [density](Index i, Index) { return holds(i, density); });
    Tensor<double> y, r, c;
    Tensor<std::int64_t> p;
    rt::routines::filter(session, {y, "y"}, x, mask, 0, count, {10, 10});
    rt::routines::filter(session, {r, "r"}, a, mask, 0, count, {20, 20});
    rt::routines::filter(session, {c, "c"}, b, mask, 1, count, {30, 30});
    rt::routines::topk(session, {}, {p, "p"}, mask, 0, count, {40, 40});
    session.collect(y, kept, 900);
    session.collect(r, rows, 901);
    session.collect(c, columns, 902);
    session.collect(p, places, 903);
  });
  const std::vector<Index> order = order_of(density);
  for (Index k = 0; k < count; ++k) {
    const Index i = order[static_cast<std::size_t>(k)];
    CHECK((*places)[static_cast<std::size_t>(k)] == i);
    CHECK((*kept)[static_cast<std::size_t>(k)] == static_cast<double>(i - 100));
    for (Index j = 0; j < 5; ++j) {
      CHECK((*rows)[static_cast<std::size_t>(5 * k + j)] == static_cast<double>(i - 100 + 1000 * j));
      CHECK((*columns)[static_cast<std::size_t>(j * count + k)] == static_cast<double>(i - 100 + 1000 * j));
    }
  }
}

}  // namespace

TEST_CASE("filter: true elements, then the others, in any tiles and layouts") {
  for (const int density : {0, 1, 3}) {
    for (const Index count : {Index{0}, Index{90}, kRows}) {
      for (const std::vector<Index>& tile : {std::vector<Index>{}, {7}, {64, 2}})
        check_filter({2, tile}, density, count);
    }
  }
  const bool has_layouts = rt::World(rt::read_environment()).size() > 1;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RunSettings settings{1 + static_cast<int>(seed % 3), {9}};
    settings.plan_seed = has_layouts ? seed : 0;
    check_filter(settings, static_cast<int>(seed % 5), static_cast<Index>(7 * seed));
  }
}

}  // namespace tdsl::tests::filters
