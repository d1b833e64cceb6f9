#include <doctest/doctest.h>

#include "runtime/plan/op_builder.h"
#include "runtime/plan/steps/steps.h"
#include "tests/unit/plan/enumeration.h"

using namespace tdsl::plan;
using tdsl::tests::Enumeration;
using tdsl::tests::OperationGenerator;
using tdsl::tests::PlannedCase;
using tdsl::tests::Random;

TEST_CASE("steps: tasks, pieces and requests agree with element-wise enumeration") {
  Index fetched = 0;
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(40); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    const PlannedCase test = OperationGenerator(random).make();
    Enumeration enumeration(test);
    const std::string wrong = enumeration.violation();
    fetched += enumeration.fetched();
    INFO("case ", n, ": ", test.describe());
    REQUIRE_MESSAGE(wrong.empty(), wrong);
  }
  CHECK(fetched > 0);
}

namespace {

/// Two ranks, contiguous halves of `extent` elements in tiles of two.
PlacedTensor halves(TensorId id, Index extent) {
  const Tiling tiling = Tiling::fixed(extent, 2);
  return {{id, {8, "f64"}, {extent}, "A"},
          Distribution::grid(2, {tiling}, {GridDim{{{2, 1}}, (tiling.tiles() + 1) / 2}})};
}
PlannedCase planned(OpBuilder& builder, std::vector<Tiling> out, std::vector<Tiling> reduce, PlacedTensor operand) {
  PlannedCase test;
  test.op = builder.op();
  test.op.outputs.push_back({100, {8, "f64"}, test.op.shape, "result"});
  test.plan.space = Distribution::single(2, std::move(out), 0);
  test.plan.reduce = std::move(reduce);
  test.tensors.emplace(operand.desc.id, std::move(operand));
  return test;
}
void check(const PlannedCase& test) {
  const std::string wrong = Enumeration(test).violation();
  CHECK_MESSAGE(wrong.empty(), wrong);
}

}  // namespace

TEST_CASE("steps: a piece that another access needs in a later panel is kept") {
  OpBuilder builder(OpClass::kReduce, "sum[k](A[k] * A[k + 2])", 0, 1);
  builder.reduce("k", Index{10}).read(0, {tdsl::plan::at(0)}).read(0, {tdsl::plan::at(0, 2)});
  check(planned(builder, {}, {Tiling::fixed(10, 2)}, halves(0, 12)));
}

TEST_CASE("steps: X'X drops every panel's pieces") {
  OpBuilder builder(OpClass::kContraction, "sum[k](X[k, i] * X[k, j])", 0, 1);
  builder.out("i", Index{3}).out("j", Index{3}).reduce("k", Index{8});
  builder.read(0, {tdsl::plan::at(2), tdsl::plan::at(0)}).read(0, {tdsl::plan::at(2), tdsl::plan::at(1)});
  const std::vector<Tiling> tilings{Tiling::fixed(8, 2), Tiling::fixed(3, 3)};
  const PlacedTensor x{{0, {8, "f64"}, {8, 3}, "X"}, Distribution::single(2, tilings, 1)};
  const PlannedCase test = planned(builder, {Tiling::fixed(3, 3), Tiling::fixed(3, 3)}, {Tiling::fixed(8, 2)}, x);
  check(test);
  const TensorLookup tensors = test.lookup();
  const TaskSpace space(test.op, test.plan, tensors);
  StepCursor cursor(space, tensors, 0);
  Step step;
  int panels = 0;
  for (; cursor.next(step); ++panels) {
    REQUIRE(step.fetch.size() == 1);
    CHECK_FALSE(step.fetch.front().keep);
    CHECK(step.fetch_bytes.hi == 2 * 3 * 8);
  }
  CHECK(panels == 4);
}

TEST_CASE("steps: a strided write asks once for what every written tile needs") {
  OpBuilder builder(OpClass::kMap, "C[3 * i] = A[0]", 0, 1);
  builder.label("i", {0, 4}).write({12}, {OutSubscript{0, 3, 0}}).read(0, {fixed(11, 12)});
  check(planned(builder, {Tiling::fixed(12, 1)}, {}, halves(0, 12)));
}

TEST_CASE("steps: a label in two subscripts touches blocks off the diagonal") {
  OpBuilder builder(OpClass::kReduce, "sum[k] A[k, k + 1]", 0, 1);
  builder.reduce("k", Index{5}).read(0, {tdsl::plan::at(0), tdsl::plan::at(0, 1)});
  const std::vector<Tiling> tilings{Tiling::fixed(6, 1), Tiling::fixed(6, 2)};
  const PlacedTensor a{{0, {8, "f64"}, {6, 6}, "A"}, Distribution::single(2, tilings, 1)};
  check(planned(builder, {}, {Tiling::fixed(5, 3)}, a));
}

TEST_CASE("steps: a diagonal write touches only the tiles of the diagonal") {
  OpBuilder builder(OpClass::kMap, "C[i, i] = A[i]", 0, 1);
  builder.label("i", {0, 8}).write({8, 8}, {OutSubscript{0, 1, 0}, OutSubscript{0, 1, 0}}).read(0, {tdsl::plan::at(0)});
  const PlannedCase test = planned(builder, {Tiling::fixed(8, 2), Tiling::fixed(8, 3)}, {}, halves(0, 8));
  check(test);
  const TensorLookup tensors = test.lookup();
  const TaskSpace space(test.op, test.plan, tensors);
  Index hit = 0;
  test.plan.space.for_each_owned(0, [&](const Coord& tile) { hit += space.hit(tile) ? 1 : 0; });
  CHECK(hit == 5);
}

TEST_CASE("steps: a product on few ranks begins with the panels a rank has itself") {
  const Index n = 64;
  const Tiling tiling = Tiling::fixed(n, 8);
  const auto square = [&](Index edge) {
    const GridDim rows{{{edge, edge}}, tiling.tiles() / edge};
    const GridDim columns{{{edge, 1}}, tiling.tiles() / edge};
    return Distribution::grid(edge * edge, {tiling, tiling}, {rows, columns});
  };
  for (const Index edge : {2, 4}) {
    OpBuilder builder(OpClass::kContraction, "A @ B", 0, 1);
    builder.out("i", n).out("j", n).reduce("k", n);
    builder.read(0, {tdsl::plan::at(0), tdsl::plan::at(2)}).read(1, {tdsl::plan::at(2), tdsl::plan::at(1)});
    PlannedCase test;
    test.op = builder.op();
    test.op.outputs.push_back({100, {8, "f64"}, test.op.shape, "C"});
    test.plan.space = square(edge);
    test.plan.reduce = {tiling};
    for (TensorId id = 0; id < 2; ++id) test.tensors[id] = {{id, {8, "f64"}, {n, n}, "T"}, square(edge)};
    check(test);
    const TensorLookup tensors = test.lookup();
    const TaskSpace space(test.op, test.plan, tensors);
    for (Index rank = 0; rank < edge * edge; ++rank) {
      // Boxes used by four ranks may be distributed by trees, whose steps have a fixed order.
      const Index own = edge == 2 && rank == 3 ? 4 : 0;
      CHECK(space.first_panel(rank) == own);
      StepCursor cursor(space, tensors, rank);
      Step step;
      REQUIRE(cursor.next(step));
      CHECK(step.panel == own);
      CHECK(step.tasks.front().first);
      if (edge == 2) CHECK(step.fetch_bytes.hi == (rank == 0 || rank == 3 ? 0 : 32 * 8 * 8));
    }
  }
}

TEST_CASE("steps: 10^9 block products on 4096 ranks are listed quickly for one of them") {
  const Index n = 1'000'000;
  const Tiling tiling = Tiling::fixed(n, 1000);
  const Distribution grid =
      Distribution::grid(4096, {tiling, tiling}, {GridDim{{{64, 64}}, 16}, GridDim{{{64, 1}}, 16}});
  OpBuilder builder(OpClass::kContraction, "A @ B", 0, 1);
  builder.out("i", n).out("j", n).reduce("k", n);
  builder.read(0, {tdsl::plan::at(0), tdsl::plan::at(2)}).read(1, {tdsl::plan::at(2), tdsl::plan::at(1)});
  PlannedCase test;
  test.op = builder.op();
  test.plan.space = grid;
  test.plan.reduce = {tiling};
  for (TensorId id = 0; id < 2; ++id) test.tensors[id] = {{id, {8, "f64"}, {n, n}, "T"}, grid};
  const TensorLookup tensors = test.lookup();
  const TaskSpace space(test.op, test.plan, tensors);
  StepCursor cursor(space, tensors, 17);
  Step step;
  Index tasks = 0, elements = 0;
  while (cursor.next(step)) {
    tasks += static_cast<Index>(step.tasks.size());
    for (const Fetch& fetch : step.fetch) elements += fetch.piece.box.volume();
  }
  CHECK(tasks == 16 * 16 * 1000);
  CHECK(elements == 2 * 16'000 * (n - 16'000));
}
