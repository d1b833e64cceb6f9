#include "runtime/kernels/each.h"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <numeric>
#include <vector>

#include "runtime/kernels/copy.h"
#include "runtime/kernels/piece.h"

// Kernels of one point, and of pieces of packed results, on tasks put together by hand.

namespace tdsl::tests {

namespace {

using rt::Box;
using rt::Index;
using rt::Interval;

template <class T>
rt::Operand operand(std::vector<T>& elements, std::vector<Interval> box) {
  Box whole;
  whole.rank = static_cast<int>(box.size());
  std::ranges::copy(box, whole.dim.begin());
  return rt::row_major(reinterpret_cast<std::byte*>(elements.data()), whole);
}

/// The elements of the output after one task.
template <class T>
std::vector<T> after(const rt::Kernel& kernel, const std::vector<Interval>& labels, const rt::Operand& input,
                     const std::vector<Interval>& box, std::vector<T> output, bool fresh) {
  const std::array inputs{input};
  const std::array outputs{operand(output, box)};
  rt::TaskArgs t;
  t.labels = labels;
  t.inputs = inputs;
  t.outputs = outputs;
  t.out_box = outputs[0].box;
  t.fresh = fresh;
  kernel(t);
  return output;
}

constexpr auto value = [](rt::In<Index, 2> x, Index i, Index j) { return x(i, j); };
constexpr auto guarded = [](rt::In<Index, 2> x, Index i, Index j, Index most) {
  return x(i, j) < most ? j : std::numeric_limits<Index>::max();
};
constexpr auto positive = [](rt::In<Index, 2> x, Index i, Index j) { return x(i, j) > 0; };

}  // namespace

TEST_CASE("each: reductions of one point start from the identity or continue from the output") {
  std::vector<Index> x{3, 1, 2, 0, 5, 4};
  const rt::Operand in = operand(x, {{0, 2}, {1, 4}});
  const std::vector<Interval> labels{{0, 2}, {1, 4}}, rows{{0, 2}};
  const auto run = [&](rt::EmittedKernel kernel, bool fresh) {
    return after<Index>(kernel.take(), labels, in, rows, {-1, 9}, fresh);
  };
  CHECK(run(rt::sum<Index, 1>(value), true) == std::vector<Index>{6, 9});
  CHECK(run(rt::sum<Index, 1>(value), false) == std::vector<Index>{5, 18});
  CHECK(run(rt::prod<Index, 1>(value), true) == std::vector<Index>{6, 0});
  CHECK(run(rt::least<Index, 1>(value), true) == std::vector<Index>{1, 0});
  CHECK(run(rt::least<Index, 1>(value), false) == std::vector<Index>{-1, 0});
  CHECK(run(rt::greatest<Index, 1>(value), true) == std::vector<Index>{3, 5});
  CHECK(run(rt::least<Index, 1>(guarded, Index{2}), true) == std::vector<Index>{2, 1});
  const auto bools = [&](rt::EmittedKernel kernel, bool fresh) {
    const rt::Kernel taken = kernel.take();
    std::array<bool, 2> result{true, false};
    std::vector<Index> unused(1);
    rt::Operand out = operand(unused, {{0, 2}});
    out.data = reinterpret_cast<std::byte*>(result.data());
    const std::array inputs{in}, outputs{out};
    rt::TaskArgs t;
    t.labels = labels;
    t.inputs = inputs;
    t.outputs = outputs;
    t.fresh = fresh;
    taken(t);
    return result;
  };
  CHECK(bools(rt::all<bool, 1>(positive), true) == std::array{true, false});
  CHECK(bools(rt::all<bool, 1>(positive), false) == std::array{true, false});
  CHECK(bools(rt::any<bool, 1>(positive), true) == std::array{true, true});
}

TEST_CASE("pieces: a part of a packed tensor, by tiles, with counts as integers") {
  std::vector<double> packed(20);
  std::iota(packed.begin(), packed.end(), 0.0);
  // A task that computes rows 1 and 2 of 2 x 3 elements from number 5 on receives elements 6 to 12.
  std::vector<double> received(packed.begin() + 6, packed.begin() + 13);
  const rt::Operand in = operand(received, {{6, 13}});
  const std::vector<Interval> tile{{1, 3}, {0, 2}};
  const rt::Kernel same = rt::piece_kernel(rt::ElementType::kF64, rt::ElementType::kF64, 5, {3, 1});
  CHECK(after<double>(same, tile, in, tile, std::vector<double>(4), true) == std::vector<double>{8, 9, 11, 12});
  const rt::Kernel counts = rt::piece_kernel(rt::ElementType::kF64, rt::ElementType::kI64, 5, {3, 1});
  CHECK(after<Index>(counts, tile, in, tile, std::vector<Index>(4), true) == std::vector<Index>{8, 9, 11, 12});
  // A part of the tile, and a scalar.
  CHECK(after<Index>(counts, {{2, 3}, {0, 2}}, in, tile, std::vector<Index>(4), true) ==
        std::vector<Index>{0, 0, 11, 12});
  const rt::Kernel scalar = rt::piece_kernel(rt::ElementType::kF64, rt::ElementType::kI64, 7, {});
  CHECK(after<Index>(scalar, {}, in, {}, std::vector<Index>(1), true) == std::vector<Index>{7});
}

}  // namespace tdsl::tests
