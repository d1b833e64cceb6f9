#include <doctest/doctest.h>

#include <set>
#include <tuple>

#include "runtime/plan/cost/cost_model.h"
#include "tests/unit/plan/counting.h"
#include "tests/unit/plan/operations.h"

using namespace tdsl::plan;
using tdsl::tests::count;
using tdsl::tests::Counted;
using tdsl::tests::outside;
using tdsl::tests::PlannedCase;
using tdsl::tests::Random;
using tdsl::tests::Recorder;

namespace {

/// For diagonal writes some figures are only bounded.
bool writes_diagonal(const Op& op) {
  std::set<int> written;
  for (const OutSubscript& s : op.out) {
    if (s.label >= 0 && !written.insert(s.label).second) return true;
  }
  return false;
}

struct Shape {
  std::string name;
  Index m, n, k;
  bool a_transposed = false, b_transposed = false, same_operand = false;
};
const std::vector<Shape> kShapes{
    {"cube", 96, 96, 96},
    {"uneven cube", 97, 89, 101},
    {"long inner", 24, 24, 960},
    {"two long outer", 480, 480, 12},
    {"tall", 960, 24, 24},
    {"wide", 24, 960, 24},
    {"matrix-vector", 300, 1, 300},
    {"outer", 300, 300, 1},
    {"dot", 1, 1, 5000},
    {"tiny", 3, 2, 5},
    {"A'B", 96, 60, 120, true},
    {"A B'", 96, 60, 120, false, true},
    {"X'X", 64, 64, 700, true, false, true},
    {"X X'", 200, 200, 30, false, true, true},
};
const std::vector<Index> kRanks{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16};

std::vector<std::shared_ptr<const PlannedOp>> plan_product(Recorder& recorder, const Shape& s) {
  const TensorId a = recorder.source("A", s.a_transposed ? std::vector{s.k, s.m} : std::vector{s.m, s.k});
  const TensorId b =
      s.same_operand ? a : recorder.source("B", s.b_transposed ? std::vector{s.n, s.k} : std::vector{s.k, s.n});
  recorder.product(a, s.a_transposed, b, s.b_transposed, s.m, s.n, s.k);
  return recorder.run();
}

}  // namespace

TEST_CASE("cost model: the figures of a random operation lie in their predicted intervals") {
  Index compared = 0;
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(20); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    PlannedCase test = tdsl::tests::OperationGenerator(random).make();
    test.plan.super_block.clear();
    if (writes_diagonal(test.op)) continue;
    ++compared;
    const TensorLookup tensors = test.lookup();
    for (Index rank = 0; rank < test.plan.space.ranks(); ++rank) {
      const Cost cost = cost_of(test.op, test.plan, tensors, rank, {}, 1);
      const std::string wrong = outside(cost, count(test.op, test.plan, tensors, rank), test.op);
      INFO("case ", n, " rank ", rank, ": ", test.describe());
      REQUIRE_MESSAGE(wrong.empty(), wrong);
    }
  }
  CHECK(compared > 0);
}

TEST_CASE("planned products: predicted bytes, flops and tasks are exact and equal the enumeration") {
  for (const Index ranks : kRanks) {
    for (const Shape& shape : kShapes) {
      for (const Index tile : {Index{0}, Index{7}, Index{1000}}) {
        PlanInputs inputs;
        inputs.ranks = ranks;
        if (tile > 0) inputs.tile = {tile};
        Recorder recorder(inputs);
        const auto planned = plan_product(recorder, shape);
        const TensorLookup tensors = recorder.planner.lookup();
        Index points = 0;
        for (const auto& op : planned) {
          INFO(shape.name, " p=", ranks, " tile ", tile, ": ", std::string(name_of(op->op.op_class)), " ", op->plan.why,
               "; ", op->plan.space.describe({}));
          for (Index rank = 0; rank < ranks; ++rank) {
            const Cost cost = cost_of(op->op, op->plan, tensors, rank, {}, 1);
            const Counted counted = count(op->op, op->plan, tensors, rank);
            const std::string wrong = outside(cost, counted, op->op);
            REQUIRE_MESSAGE(wrong.empty(), wrong);
            REQUIRE(cost.bytes_received.lo == cost.bytes_received.hi);
            REQUIRE(cost.received_elements.lo == cost.received_elements.hi);
            REQUIRE(cost.flops.lo == cost.flops.hi);
            REQUIRE(cost.tasks.lo == cost.tasks.hi);
            if (op->op.op_class == OpClass::kContraction) points += counted.points;
          }
        }
        CHECK(points == shape.m * shape.n * shape.k);
      }
    }
  }
}

TEST_CASE("planned products: no element travels to a rank twice") {
  for (const Index ranks : kRanks) {
    for (const Shape& shape : kShapes) {
      PlanInputs inputs;
      inputs.ranks = ranks;
      Recorder recorder(inputs);
      for (const auto& op : plan_product(recorder, shape)) {
        for (Index rank = 0; rank < ranks; ++rank) {
          std::set<std::tuple<TensorId, Index, Index>> received;
          bool twice = false;
          count(op->op, op->plan, recorder.planner.lookup(), rank, [&](const Fetch& fetch) {
            const Box& box = fetch.piece.box;
            const Interval columns = box.rank == 2 ? box[1] : Interval{0, 1};
            for (Index x = box[0].lo; box.rank <= 2 && x < box[0].hi; ++x) {
              for (Index y = columns.lo; y < columns.hi; ++y) {
                twice = !received.insert({fetch.piece.tensor, x, y}).second || twice;
              }
            }
          });
          INFO(shape.name, " p=", ranks, " rank ", rank, " ", op->plan.why);
          REQUIRE_FALSE(twice);
        }
      }
    }
  }
}

TEST_CASE("a wrong owner map makes the comparison of predicted and counted bytes fail") {
  for (const Index ranks : {4, 6, 9, 16}) {
    PlanInputs inputs;
    inputs.ranks = ranks;
    Recorder recorder(inputs);
    const auto planned = plan_product(recorder, kShapes.front());
    const PlannedOp& op = *planned.back();
    const TensorLookup right = recorder.planner.lookup();
    const TensorId operand = op.op.reads.front().tensor;
    PlacedTensor shifted = right(operand);
    REQUIRE(shifted.distribution.by_axes());
    const Distribution& where = right(operand).distribution;
    shifted.distribution = Distribution::grid(ranks, where.tilings(), where.grid_dims(), where.home() + 1);
    const TensorLookup wrong = [&](TensorId id) -> const PlacedTensor& { return id == operand ? shifted : right(id); };
    int different = 0;
    for (Index rank = 0; rank < ranks; ++rank) {
      const Cost cost = cost_of(op.op, op.plan, right, rank, {}, 1);
      if (!outside(cost, count(op.op, op.plan, wrong, rank), op.op).empty()) ++different;
    }
    CHECK(different > 0);
  }
}

TEST_CASE("cost model: the sampled ranks include the one that has all the work") {
  PlanInputs inputs;
  inputs.ranks = 256;
  Recorder recorder(inputs);
  const TensorId a = recorder.source("A", {64});
  OpBuilder builder(OpClass::kMap, "B", 9, 1);
  builder.out("i", Index{64}).read(a, {at(0)});
  recorder.finish(builder, "B");
  PlannedOp op = *recorder.run().back();
  for (const Index home : {0, 173, 255}) {
    op.plan.space = Distribution::single(256, op.plan.space.tilings(), home);
    CHECK(summarise(op.op, op.plan, recorder.planner.lookup(), {}, 1).max_flops == 64);
  }
  std::vector<std::int32_t> owners(64, 3);
  owners[5] = 4;
  op.plan.space = Distribution::table(256, {Tiling::fixed(64, 1)}, owners);
  CHECK(summarise(op.op, op.plan, recorder.planner.lookup(), {}, 1).max_flops == 63);
}

TEST_CASE("planner: of many ranks the one that alone holds a tensor keeps to the memory limit") {
  constexpr Index kSize = 16 << 20;  // bytes
  PlanInputs inputs;
  inputs.ranks = 256;
  inputs.memory = 30 << 20;
  Recorder recorder(inputs);
  const auto on_173 = [&](const std::string& name) {
    OpBuilder builder(OpClass::kMap, name, 9, 1);
    builder.out("i", kSize / 8);
    builder.op().home = 173;
    return recorder.finish(builder, name);
  };
  const TensorId a = on_173("A");
  recorder.run();
  CHECK(recorder.planner.needed_memory().bytes == kSize);
  // There is no room for another tensor at A's location.
  OpBuilder builder(OpClass::kMap, "B", 10, 1);
  builder.out("i", kSize / 8).read(a, {at(0)});
  recorder.finish(builder, "B");
  recorder.run();
  CHECK(recorder.planner.needed_memory().bytes <= inputs.memory);
  on_173("C");
  recorder.run();
  CHECK(recorder.planner.needed_memory().bytes >= 2 * kSize);
  CHECK(recorder.planner.needed_memory().name == "C");
  recorder.planner.erase(a);
  on_173("D");
  recorder.run();
  CHECK(recorder.planner.needed_memory().bytes < 3 * kSize);
}
