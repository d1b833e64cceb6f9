#include "runtime/kernels/steps/time_steps.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/kernels/copy.h"

// Several steps of a stencil in one task, against the steps one after the other.

namespace tdsl::tests::time_steps {

namespace {

using rt::Box;
using rt::Index;
using rt::Interval;

/// An asymmetric stencil with a coefficient per point.
constexpr auto step = [](rt::Out<Index, 2> y, rt::In<Index, 2> w, rt::In<Index, 2> x, Index i, Index j) {
  y(i, j) = (3 * x(i - 1, j) + x(i, j) + 5 * x(i, j + 1) + 7 * x(i, j - 2) + w(i + 1, j)) % 1009;
};

const std::vector<plan::Reach> kReach{{1, 0}, {2, 1}};

Box box_of_two(Interval rows, Interval columns) {
  Box box;
  box.rank = 2;
  box[0] = rows;
  box[1] = columns;
  return box;
}

rt::Operand whole_of(std::vector<Index>& elements, Index n, Index m) {
  return rt::row_major(reinterpret_cast<std::byte*>(elements.data()), box_of_two({0, n}, {0, m}));
}

void run(const rt::Kernel& kernel, const std::array<Interval, 2>& labels, const std::array<rt::Operand, 2>& inputs,
         const rt::Operand& out) {
  rt::TaskArgs t;
  t.labels = labels;
  t.inputs = inputs;
  t.outputs = {&out, 1};
  t.out_box = out.box;
  t.fresh = false;
  kernel(t);
}

}  // namespace

TEST_CASE("time steps: the values of steps one after the other, for any number of them, in any part of the domain") {
  constexpr std::array<std::array<Index, 2>, 3> kShapes{{{23, 19}, {400, 500}, {3, 40}}};
  for (const auto& [n, m] : kShapes) {
    std::vector<Index> start(static_cast<std::size_t>(n * m)), weight = start;
    for (std::size_t k = 0; k < start.size(); ++k) {
      start[k] = static_cast<Index>(k * k % 1013);
      weight[k] = static_cast<Index>(k % 17);
    }
    const std::array<Interval, 2> domain{Interval{1, n - 1}, Interval{2, m - 1}};
    std::vector<Index> expected = start;
    rt::Kernel one = rt::each(step).take();
    for (Index count = 1; count <= 9; ++count) {
      std::vector<Index> next = expected;
      run(one, domain, {whole_of(weight, n, m), whole_of(expected, n, m)}, whole_of(next, n, m));
      expected = next;
      const rt::Kernel all =
          rt::time_steps({count, 1, sizeof(Index), {domain.begin(), domain.end()}, kReach}, rt::each(step)).take();
      std::vector<Index> result = start;
      run(all, domain, {whole_of(weight, n, m), whole_of(start, n, m)}, whole_of(result, n, m));
      CHECK(result == expected);
      // A part of the domain, from a box that has its margins only.
      const std::array<Interval, 2> part{Interval{n / 3, n / 2 + 1}, Interval{m / 4, m / 2}};
      const Box margins =
          plan::intersect(box_of_two({part[0].lo - count, part[0].hi}, {part[1].lo - 2 * count, part[1].hi + count}),
                          box_of_two({0, n}, {0, m}));
      const rt::Operand before = rt::part_of(whole_of(start, n, m), margins, sizeof(Index));
      result = start;
      run(all, part, {whole_of(weight, n, m), before}, whole_of(result, n, m));
      bool same = true;
      for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < m; ++j) {
          const bool inside = part[0].lo <= i && i < part[0].hi && part[1].lo <= j && j < part[1].hi;
          const auto k = static_cast<std::size_t>(i * m + j);
          same = same && result[k] == (inside ? expected[k] : start[k]);
        }
      }
      CHECK(same);
    }
  }
}

TEST_CASE("time steps: a task without points writes nothing") {
  std::vector<Index> x(4, 1), y(4, 2);
  const rt::Kernel all = rt::time_steps({3, 1, sizeof(Index), {{1, 1}, {2, 1}}, kReach}, rt::each(step)).take();
  run(all, {Interval{1, 1}, Interval{2, 1}}, {whole_of(x, 2, 2), whole_of(x, 2, 2)}, whole_of(y, 2, 2));
  CHECK(y == std::vector<Index>(4, 2));
}

}  // namespace tdsl::tests::time_steps
