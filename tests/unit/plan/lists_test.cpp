#include "runtime/plan/lists.h"

#include <doctest/doctest.h>

#include <map>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/machine.h"
#include "runtime/plan/cost/sent_bytes.h"
#include "runtime/plan/op_builder.h"
#include "runtime/plan/steps/steps.h"

using namespace tdsl::plan;

namespace {

constexpr TensorId kMatrix = 0, kVector = 1;

/// y[i] = sum[j](A[i, j] * x[j]) with n rows on `ranks` ranks, all cut alike.
struct ProductWithVector {
  ProductWithVector(Index n, Index ranks, DimAccess columns = tdsl::plan::walked(1)) {
    const Tiling rows = Tiling::near_equal(n, ranks), whole = Tiling::near_equal(n, 1);
    const GridDim cut{{{ranks, 1}}, 1};
    TensorDesc a{kMatrix, {8, "f64"}, {n, n}, "A"};
    a.storage = compressed_rows();
    a.stored = guessed_stored({n, n});
    placed.emplace(kMatrix, PlacedTensor{a, Distribution::grid(ranks, {rows, whole}, {cut, GridDim{}})});
    placed.emplace(kVector, PlacedTensor{{kVector, {8, "f64"}, {n}, "x"}, Distribution::grid(ranks, {rows}, {cut})});
    OpBuilder builder(OpClass::kMap, "y", 0, 1);
    builder.out("i", n).label("j", Interval{0, n});
    builder.read(kMatrix, {tdsl::plan::at(0), std::move(columns)}).read(kVector, {tdsl::plan::at(1)}).flops(2);
    op = builder.op();
    op.outputs.push_back({2, {8, "f64"}, {n}, "y"});
    plan.space = Distribution::grid(ranks, {rows}, {cut});
  }
  [[nodiscard]] TensorLookup lookup() const {
    return [this](TensorId id) -> const PlacedTensor& { return placed.at(id); };
  }
  [[nodiscard]] bool by_lists() const { return tdsl::plan::by_lists(op, plan, lookup(), kVector); }

  std::map<TensorId, PlacedTensor> placed;
  Op op;
  OpPlan plan;
};

}  // namespace

TEST_CASE("plan lists: an operand at the label of stored columns may be requested in part") {
  const ProductWithVector product(64, 8);
  const TensorLookup tensors = product.lookup();
  const std::optional<Walk> walk = walk_of(product.op, product.op.reads[1], tensors);
  REQUIRE(walk);
  CHECK(walk->read == 0);
  CHECK(walk->dim == 1);
  CHECK(product.by_lists());
  CHECK_FALSE(by_lists(product.op, product.plan, tensors, kMatrix));
  CHECK_FALSE(ProductWithVector(64, 8, tdsl::plan::whole()).by_lists());
  CHECK_FALSE(ProductWithVector(64, 1).by_lists());
  ProductWithVector nodes(64, 8);
  nodes.plan.ranks_per_node = 4;
  CHECK_FALSE(nodes.by_lists());
  ProductWithVector home(64, 8);
  home.placed.at(kVector).housing.home = Home::kDisk;
  CHECK_FALSE(home.by_lists());
}

TEST_CASE("plan lists: predictions are from nothing to the whole, and owners send to every rank themselves") {
  const ProductWithVector product(64, 8);
  const TensorLookup tensors = product.lookup();
  const TaskSpace space(product.op, product.plan, tensors);
  const Machine machine;
  for (Index rank = 0; rank < 8; ++rank) {
    const Cost cost = cost_of(product.op, product.plan, tensors, rank, machine, 1);
    CHECK(cost.bytes_received.lo == 0);
    CHECK(cost.bytes_received.hi == 7 * 8 * 8);
    CHECK(cost.bytes_expected == 7 * 8 * 8);
    const Range sent = sent_bytes(product.op, product.plan, tensors, rank, machine);
    CHECK(sent.lo == 0);
    CHECK(sent.hi == 7 * 8 * 8);
    StepCursor cursor(space, tensors, rank);
    Step step;
    REQUIRE(cursor.next(step));
    CHECK(step.fetch.size() == 7);
    for (const Fetch& fetch : step.fetch) CHECK(fetch.listed == 1);
  }
}

TEST_CASE("plan lists: another access needs the pieces that it shares whole") {
  ProductWithVector product(64, 4);
  product.op.reads.push_back({kVector, {tdsl::plan::whole()}});
  const TensorLookup tensors = product.lookup();
  CHECK(product.by_lists());
  const TaskSpace space(product.op, product.plan, tensors);
  StepCursor cursor(space, tensors, 0);
  Step step;
  REQUIRE(cursor.next(step));
  CHECK(step.fetch.size() == 3);
  for (const Fetch& fetch : step.fetch) CHECK(fetch.listed == -1);
}
