#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <vector>

#include "runtime/kernels/combine.h"
#include "runtime/kernels/copy.h"
#include "runtime/kernels/label_strides.h"
#include "runtime/kernels/product/contraction.h"
#include "runtime/plan/op_builder.h"

namespace tdsl::tests {

namespace {

using plan::Index;
using plan::Interval;

/// A tensor of small integers, so that every summation order gives the same value.
struct Data {
  std::vector<double> elements;
  rt::Operand operand;

  Data(std::mt19937& random, const plan::Box& box) : elements(static_cast<std::size_t>(box.volume())) {
    for (double& x : elements) x = static_cast<double>(random() % 9) - 4;
    operand = rt::row_major(reinterpret_cast<std::byte*>(elements.data()), box);
  }
};

plan::Box box_of(const std::vector<Index>& shape) {
  plan::Box box;
  box.rank = static_cast<int>(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) box.dim[d] = {0, shape[d]};
  return box;
}

/// The definition: every point of the label space.
void contract_by_definition(const plan::Op& op, const rt::TaskArgs& args, std::vector<double>& out,
                            const rt::Operand& block) {
  const std::size_t labels = op.labels.size();
  const rt::LabelStrides a = rt::strides_of(op.reads[0], labels, args.inputs[0]);
  const rt::LabelStrides b = rt::strides_of(op.reads[1], labels, args.inputs[1]);
  const rt::LabelStrides c = rt::strides_of(op.out, labels, block);
  const auto* x = reinterpret_cast<const double*>(args.inputs[0].data);
  const auto* y = reinterpret_cast<const double*>(args.inputs[1].data);
  std::vector<Index> v;
  for (const Interval& l : args.labels) {
    if (l.empty()) return;
    v.push_back(l.lo);
  }
  while (true) {
    Index ia = a.offset;
    Index ib = b.offset;
    Index ic = c.offset;
    for (std::size_t l = 0; l < labels; ++l) {
      ia += a.step[l] * v[l];
      ib += b.step[l] * v[l];
      ic += c.step[l] * v[l];
    }
    out[static_cast<std::size_t>(ic)] += x[ia] * y[ib];
    std::size_t l = labels;
    while (l > 0 && ++v[l - 1] == args.labels[l - 1].hi) {
      --l;
      v[l] = args.labels[l].lo;
    }
    if (l == 0) return;
  }
}

void check_contraction(std::mt19937& random, plan::OpBuilder& builder, const std::vector<Index>& a_shape,
                       const std::vector<Index>& b_shape) {
  const auto op = std::make_shared<const plan::Op>(builder.op());
  for (const bool fresh : {true, false}) {
    const Data a(random, box_of(a_shape));
    const Data b(random, box_of(b_shape));
    Data c(random, box_of(op->shape));
    std::vector<Interval> labels;
    for (const plan::LabelDesc& label : op->labels) labels.push_back(label.range);
    const std::vector<rt::Operand> inputs{a.operand, b.operand};
    const std::vector<rt::Operand> outputs{c.operand};
    rt::TaskArgs args;
    args.labels = labels;
    args.inputs = inputs;
    args.outputs = outputs;
    args.out_box = c.operand.box;
    args.fresh = fresh;
    std::vector<double> expected = fresh ? std::vector<double>(c.elements.size(), 0.0) : c.elements;
    contract_by_definition(*op, args, expected, c.operand);
    rt::contraction_kernel(op, rt::ElementType::kF64)(args);
    CHECK(c.elements == expected);
  }
}

}  // namespace

TEST_CASE("contraction kernel: every pattern of labels agrees with its definition") {
  std::mt19937 random(7);
  const auto start = [] { return plan::OpBuilder(plan::OpClass::kContraction, "C", 0, 0); };
  using plan::at;
  for (const Index n : {1, 3, 17, 40}) {
    SUBCASE("matrix products, all transposes") {
      for (int transposes = 0; transposes < 8; ++transposes) {
        auto op = start();
        const int i = (transposes & 4) != 0 ? 1 : 0;
        op.out("i", 20).out("j", 20).reduce("k", n);
        op.read(0, (transposes & 1) != 0 ? std::vector{at(2), at(i)} : std::vector{at(i), at(2)});
        op.read(1, (transposes & 2) != 0 ? std::vector{at(1 - i), at(2)} : std::vector{at(2), at(1 - i)});
        check_contraction(random, op, (transposes & 1) != 0 ? std::vector<Index>{n, 20} : std::vector<Index>{20, n},
                          (transposes & 2) != 0 ? std::vector<Index>{20, n} : std::vector<Index>{n, 20});
      }
    }
    SUBCASE("matrix and vector, vector and matrix, dot, outer") {
      auto mv = start();
      mv.out("i", 30).reduce("k", n).read(0, {at(0), at(1)}).read(1, {at(1)});
      check_contraction(random, mv, {30, n}, {n});
      auto vm = start();
      vm.out("i", 30).reduce("k", n).read(0, {at(1)}).read(1, {at(1), at(0)});
      check_contraction(random, vm, {n}, {n, 30});
      auto dot = start();
      dot.write({}, {}).reduce("k", n).read(0, {at(0)}).read(1, {at(0)});
      check_contraction(random, dot, {n}, {n});
      auto outer = start();
      outer.out("i", n).out("j", 18).read(0, {at(0)}).read(1, {at(1)});
      check_contraction(random, outer, {n}, {18});
    }
    SUBCASE("batches and several summed labels") {
      auto batch = start();
      batch.out("b", 3)
          .out("i", 18)
          .out("j", n)
          .reduce("k", 20)
          .read(0, {at(3), at(0), at(1)})
          .read(1, {at(2), at(3), at(0)});
      check_contraction(random, batch, {20, 3, 18}, {n, 20, 3});
      auto interleaved = start();
      interleaved.out("i", n).out("q", 20).reduce("k", 18).read(0, {at(0), at(2), at(1)}).read(1, {at(2), at(1)});
      check_contraction(random, interleaved, {n, 18, 20}, {18, 20});
      auto two = start();
      two.out("i", 18)
          .out("j", 19)
          .reduce("k", n)
          .reduce("l", 5)
          .read(0, {at(0), at(2), at(3)})
          .read(1, {at(2), at(3), at(1)});
      check_contraction(random, two, {18, n, 5}, {n, 5, 19});
      auto apart = start();
      apart.out("i", 18)
          .out("j", 19)
          .reduce("k", n)
          .reduce("l", 5)
          .read(0, {at(3), at(0), at(2)})
          .read(1, {at(2), at(1), at(3)});
      check_contraction(random, apart, {5, 18, n}, {n, 19, 5});
      auto alone = start();
      alone.out("i", 18)
          .out("j", 19)
          .reduce("k", n)
          .reduce("l", 4)
          .read(0, {at(0), at(2), at(3)})
          .read(1, {at(2), at(1)});
      check_contraction(random, alone, {18, n, 4}, {n, 19});
    }
    SUBCASE("constants, coefficients, diagonals, parts of the output") {
      auto shifted = start();
      shifted.out("i", 20).out("j", 21).reduce("k", n).read(0, {at(0, 2), at(2, 1)}).read(1, {at(2), at(1, 3)});
      check_contraction(random, shifted, {22, n + 1}, {n, 24});
      auto strided = start();
      strided.out("i", 20).out("j", 21).reduce("k", n).read(0, {at(0), at(2, 1, 2)}).read(1, {at(2, n - 1, -1), at(1)});
      check_contraction(random, strided, {20, 2 * n + 1}, {n, 21});
      auto diagonal = start();
      diagonal.out("i", n).reduce("k", 17).read(0, {at(0), at(0), at(1)}).read(1, {at(1), at(0)});
      check_contraction(random, diagonal, {n, n, 17}, {17, n});
      auto partial = start();
      partial.label("i", {2, 19})
          .label("j", {0, 20})
          .reduce("k", n)
          .write({25, 3, 22}, {{0, 1, 1}, {plan::kNoLabel, 1, 2}, {1, 1, 0}});
      partial.read(0, {at(0), at(2)}).read(1, {at(2), at(1)});
      check_contraction(random, partial, {20, n}, {n, 20});
    }
  }
}

TEST_CASE("contraction kernel: matrices stored tile by tile are one product") {
  std::mt19937 random(23);
  using plan::at;
  const auto start = [] { return plan::OpBuilder(plan::OpClass::kContraction, "C", 0, 0); };
  struct Sizes {
    Index tiles, edge;
  };
  // Around the size below which products of the tiles are computed; edges that are no multiples of panels.
  for (const Sizes s : {Sizes{3, 5}, Sizes{9, 14}, Sizes{13, 10}, Sizes{5, 33}, Sizes{2, 80}, Sizes{17, 8}}) {
    CAPTURE(s.tiles);
    CAPTURE(s.edge);
    const std::vector<Index> shape{s.tiles, s.tiles, s.edge, s.edge};
    const Index n = s.tiles * s.edge;
    auto tiles = start();
    tiles.out("i", s.tiles).out("j", s.tiles).out("p", s.edge).out("q", s.edge);
    tiles.reduce("k", s.tiles).reduce("l", s.edge);
    tiles.read(0, {at(0), at(4), at(2), at(5)}).read(1, {at(4), at(1), at(5), at(3)});
    check_contraction(random, tiles, shape, shape);
    auto left_transposed = start();
    left_transposed.out("i", s.tiles).out("j", s.tiles).out("p", s.edge).out("q", s.edge);
    left_transposed.reduce("k", s.tiles).reduce("l", s.edge);
    left_transposed.read(0, {at(4), at(0), at(5), at(2)}).read(1, {at(4), at(1), at(5), at(3)});
    check_contraction(random, left_transposed, shape, shape);
    auto plain_left = start();
    plain_left.out("i", n).out("j", s.tiles).out("q", s.edge).reduce("k", s.tiles).reduce("l", s.edge);
    plain_left.read(0, {at(0), at({{3, s.edge}, {4, 1}})}).read(1, {at(3), at(1), at(4), at(2)});
    check_contraction(random, plain_left, {n, n}, shape);
    auto plain_result = start();
    plain_result.out("i", n).out("j", n).reduce("k", s.tiles).reduce("l", s.edge);
    plain_result.read(0, {at(2), at(3), at(0)}).read(1, {at(2), at(1), at(3)});
    check_contraction(random, plain_result, {s.tiles, s.edge, n}, {s.tiles, n, s.edge});
  }
}

TEST_CASE("contraction kernel: a vector and short rows, in both orders, in memory of rows and of columns, with steps") {
  std::mt19937 random(11);
  const auto start = [] { return plan::OpBuilder(plan::OpClass::kContraction, "C", 0, 0); };
  using plan::at;
  for (const Index length : {2, 7, 16, 17}) {
    CAPTURE(length);
    auto dots = start();
    dots.out("i", 60).reduce("k", length).read(0, {at(0), at(1)}).read(1, {at(1)});
    check_contraction(random, dots, {60, length}, {length});
    auto dots_of_second = start();
    dots_of_second.out("i", 60).reduce("k", length).read(0, {at(1, 1, 2)}).read(1, {at(0), at(1)});
    check_contraction(random, dots_of_second, {2 * length + 1}, {60, length});
    auto sums = start();
    sums.out("k", length).reduce("i", 60).read(0, {at(1), at(0)}).read(1, {at(1)});
    check_contraction(random, sums, {60, length}, {60});
    auto columns = start();
    columns.out("i", 60).reduce("k", length).read(0, {at(1), at(0)}).read(1, {at(1)});
    check_contraction(random, columns, {length, 60}, {length});
    auto wide = start();
    wide.out("b", 3).out("i", 60).reduce("k", length).read(0, {at(1), at(0), at(2, 1)}).read(1, {at(2), at(0)});
    check_contraction(random, wide, {60, 3, length + 2}, {length, 3});
  }
}

TEST_CASE("combine kernel: parts meet in order, for every monoid") {
  const Index parts = 5;
  plan::OpBuilder builder(plan::OpClass::kCombine, "s", 0, 0);
  builder.out("i", 3).reduce("c", parts).read(0, {plan::at(1), plan::at(0)});
  const auto op = std::make_shared<const plan::Op>(builder.op());
  std::vector<float> in(static_cast<std::size_t>(3 * parts));
  for (std::size_t x = 0; x < in.size(); ++x) in[x] = 0.1F * static_cast<float>(x + 1);
  std::vector<float> out(3, 7);
  const std::vector<rt::Operand> inputs{rt::row_major(reinterpret_cast<std::byte*>(in.data()), box_of({parts, 3}))};
  const std::vector<rt::Operand> outputs{rt::row_major(reinterpret_cast<std::byte*>(out.data()), box_of({3}))};
  const std::vector<Interval> labels{{0, 3}, {0, parts}};
  rt::TaskArgs args;
  args.labels = labels;
  args.inputs = inputs;
  args.outputs = outputs;
  args.out_box = box_of({3});
  const auto combined = [&](plan::Combine combine) {
    rt::combine_kernel(op, combine, rt::ElementType::kF32)(args);
    return out;
  };
  const auto expected = [&](auto f) {
    std::vector<float> result(in.begin(), in.begin() + 3);
    for (std::size_t x = 3; x < in.size(); ++x) result[x % 3] = f(result[x % 3], in[x]);
    return result;
  };
  CHECK(combined(plan::Combine::kSum) == expected([](float a, float b) { return a + b; }));
  CHECK(combined(plan::Combine::kProd) == expected([](float a, float b) { return a * b; }));
  CHECK(combined(plan::Combine::kMin) == expected([](float a, float b) { return std::min(a, b); }));
  CHECK(combined(plan::Combine::kMax) == expected([](float a, float b) { return std::max(a, b); }));
}

TEST_CASE("combine kernel: parts of a packed result are combined by their own operators, for any elements of a task") {
  const Index parts = 4, elements = 6;
  plan::OpBuilder builder(plan::OpClass::kCombine, "s", 0, 0);
  builder.out("element", elements).reduce("c", parts).read(0, {plan::at(1), plan::at(0)});
  const auto op = std::make_shared<const plan::Op>(builder.op());
  std::vector<double> in(static_cast<std::size_t>(parts * elements));
  for (std::size_t x = 0; x < in.size(); ++x) in[x] = static_cast<double>(x * 7 % 11);
  const rt::Kernel kernel =
      rt::combine_kernel(op, plan::Combine::kSum, rt::ElementType::kF64,
                         {{plan::Combine::kSum, 2}, {plan::Combine::kMax, 3}, {plan::Combine::kMin, 1}});
  for (const Interval mine : {Interval{0, 6}, Interval{0, 1}, Interval{1, 4}, Interval{3, 6}, Interval{5, 6}}) {
    CAPTURE(mine.lo);
    plan::Box box = box_of({parts, mine.size()});
    box[1] = mine;
    std::vector<double> part;
    for (Index p = 0; p < parts; ++p)
      part.insert(part.end(), in.begin() + p * elements + mine.lo, in.begin() + p * elements + mine.hi);
    plan::Box out_box = box_of({mine.size()});
    out_box[0] = mine;
    std::vector<double> out(static_cast<std::size_t>(mine.size()), -1);
    const std::vector<rt::Operand> inputs{rt::row_major(reinterpret_cast<std::byte*>(part.data()), box)};
    const std::vector<rt::Operand> outputs{rt::row_major(reinterpret_cast<std::byte*>(out.data()), out_box)};
    const std::vector<Interval> labels{mine, {0, parts}};
    rt::TaskArgs args;
    args.labels = labels;
    args.inputs = inputs;
    args.outputs = outputs;
    args.out_box = out_box;
    kernel(args);
    for (Index e = mine.lo; e < mine.hi; ++e) {
      double expected = in[static_cast<std::size_t>(e)];
      for (Index p = 1; p < parts; ++p) {
        const double next = in[static_cast<std::size_t>(p * elements + e)];
        expected = e < 2 ? expected + next : e < 5 ? std::max(expected, next) : std::min(expected, next);
      }
      CHECK(out[static_cast<std::size_t>(e - mine.lo)] == expected);
    }
  }
}

namespace {

/// 2 c + bias[last label] + first label, in place: reveals points that are visited twice or not at all.
rt::Kernel doubling() {
  return [](const rt::TaskArgs& t) {
    CHECK(t.inputs.size() == 2);
    CHECK(t.inputs[0].data == t.outputs[0].data);
    std::vector<Index> at;
    for (const Interval& label : t.labels) at.push_back(label.lo);
    const auto* bias = reinterpret_cast<const double*>(t.inputs[1].data);
    auto* const block = reinterpret_cast<double*>(t.outputs[0].data);
    while (true) {
      Index offset = 0;
      for (std::size_t d = 0; d < at.size(); ++d)
        offset += (at[d] - t.outputs[0].box.dim[d].lo) * t.outputs[0].stride[d];
      block[offset] = 2 * block[offset] + bias[at.back() - t.inputs[1].box.dim[0].lo] + static_cast<double>(at.front());
      std::size_t d = at.size();
      while (d > 0 && ++at[d - 1] == t.labels[d - 1].hi) {
        --d;
        at[d] = t.labels[d].lo;
      }
      if (d == 0) return;
    }
  };
}

/// Two panels of k, of which the last completes the block; the block does not start at 0. C[b, i, j] with `batch`,
/// otherwise C[i, j].
void check_epilogue(std::mt19937& random, Index m, Index n, Index k, bool left_turned, bool right_turned, bool batch) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(left_turned);
  CAPTURE(right_turned);
  using plan::at;
  plan::OpBuilder builder(plan::OpClass::kContraction, "C", 0, 0);
  if (batch) builder.out("b", 3);
  const int i = batch ? 1 : 0;
  builder.out("i", m + 2).out("j", n + 3).reduce("k", k);
  const auto subscripts = [&](int x, int y, bool turned) {
    std::vector<plan::DimAccess> dims{at(turned ? y : x), at(turned ? x : y)};
    if (batch) dims.insert(dims.begin(), at(0));
    return dims;
  };
  builder.read(0, subscripts(i, i + 2, left_turned))
      .read(1, subscripts(i + 2, i + 1, right_turned))
      .epilogue()
      .read(2, {at(i + 1)});
  const auto op = std::make_shared<const plan::Op>(builder.op());
  const auto box = [&](Interval x, Interval y, bool turned) {
    plan::Box b = box_of(batch ? std::vector<Index>{3, 0, 0} : std::vector<Index>{0, 0});
    b[i] = turned ? y : x;
    b[i + 1] = turned ? x : y;
    return b;
  };
  const Interval rows{2, m + 2}, columns{3, n + 3};
  plan::Box along = box_of({n + 3});
  along[0] = columns;
  const Data bias(random, along);
  Data c(random, box(rows, columns, false));
  std::vector<double> expected(c.elements.size(), 0.0);
  const rt::Kernel kernel = rt::contraction_kernel(op, rt::ElementType::kF64, rt::Epilogue(doubling()));
  const Index half = k / 2;
  for (const Interval panel : {Interval{0, half}, Interval{half, k}}) {
    const Data a(random, box(rows, panel, left_turned));
    const Data b(random, box(panel, columns, right_turned));
    std::vector<Interval> labels{rows, columns, panel};
    if (batch) labels.insert(labels.begin(), Interval{0, 3});
    const std::vector<rt::Operand> inputs{a.operand, b.operand, bias.operand};
    const std::vector<rt::Operand> outputs{c.operand};
    rt::TaskArgs args;
    args.labels = labels;
    args.inputs = inputs;
    args.outputs = outputs;
    args.out_box = c.operand.box;
    args.first = args.fresh = panel.lo == 0;
    args.last = panel.hi == k;
    if (k == 0 && !args.last) continue;
    contract_by_definition(*op, args, expected, c.operand);
    kernel(args);
    if (k == 0) break;
  }
  Index offset = 0;
  for (double& x : expected) {
    const Index column = offset % n, first = batch ? offset / (m * n) : rows.lo + offset / n;
    x = 2 * x + bias.elements[static_cast<std::size_t>(column)] + static_cast<double>(first);
    ++offset;
  }
  CHECK(c.elements == expected);
}

}  // namespace

TEST_CASE("contraction kernel: an epilogue runs once over every element of a complete block") {
  std::mt19937 random(11);
  for (const bool left : {false, true}) {
    for (const bool right : {false, true}) {
      for (const bool batch : {false, true}) check_epilogue(random, 17, 20, 40, left, right, batch);
      check_epilogue(random, 5, 6, 4, left, right, false);
      check_epilogue(random, 1, 70, 30, left, right, false);
      check_epilogue(random, 70, 1, 30, left, right, false);
      check_epilogue(random, 3, 4, 0, left, right, false);
      if (left && !right) check_epilogue(random, 270, 1300, 600, left, right, false);  // the definition is slow
    }
  }
}

TEST_CASE("combine kernel: an epilogue waits for the last partial result") {
  const Index parts = 4, elements = 6;
  plan::OpBuilder builder(plan::OpClass::kCombine, "s", 0, 0);
  builder.out("element", elements)
      .reduce("c", parts)
      .read(0, {plan::at(1), plan::at(0)})
      .epilogue()
      .read(1, {plan::at(0)});
  const auto op = std::make_shared<const plan::Op>(builder.op());
  const rt::Kernel kernel =
      rt::followed_by(rt::combine_kernel(op, plan::Combine::kSum, rt::ElementType::kF64), rt::Epilogue(doubling()));
  std::mt19937 random(5);
  const Data bias(random, box_of({elements}));
  Data out(random, box_of({elements}));
  std::vector<double> expected(static_cast<std::size_t>(elements), 0.0);
  for (Index p = 0; p < parts; ++p) {
    plan::Box box = box_of({parts, elements});
    box[0] = {p, p + 1};
    const Data part(random, box);
    const std::vector<rt::Operand> inputs{part.operand, bias.operand};
    const std::vector<rt::Operand> outputs{out.operand};
    const std::vector<Interval> labels{{0, elements}, {p, p + 1}};
    rt::TaskArgs args;
    args.labels = labels;
    args.inputs = inputs;
    args.outputs = outputs;
    args.out_box = out.operand.box;
    args.first = args.fresh = p == 0;
    args.last = p + 1 == parts;
    kernel(args);
    for (std::size_t e = 0; e < expected.size(); ++e) expected[e] += part.elements[e];
  }
  for (std::size_t e = 0; e < expected.size(); ++e)
    expected[e] = 2 * expected[e] + bias.elements[e] + static_cast<double>(e);
  CHECK(out.elements == expected);
}

}  // namespace tdsl::tests
