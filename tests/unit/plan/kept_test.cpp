#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "runtime/plan/op_builder.h"
#include "runtime/plan/steps/step_fit.h"
#include "tests/unit/plan/counting.h"
#include "tests/unit/plan/enumeration.h"

// Operands kept over super-blocks.

using namespace tdsl::plan;
using tdsl::tests::count;
using tdsl::tests::Counted;
using tdsl::tests::Enumeration;
using tdsl::tests::OperationGenerator;
using tdsl::tests::outside;
using tdsl::tests::PlannedCase;
using tdsl::tests::Random;

namespace {

constexpr Index kWalkRanks = 4;

/// Rows in contiguous shares, in tiles of `edge` rows.
PlacedTensor in_rows(TensorId id, Index rows, Index columns, Index edge, Index turn) {
  const std::vector<Tiling> tilings{Tiling::fixed(rows, edge), Tiling::fixed(columns, columns)};
  const std::vector<GridDim> dims{GridDim{{{kWalkRanks, 1}}, tilings[0].tiles() / kWalkRanks}, GridDim{}};
  return {{id, {8, "f64"}, {rows, columns}, "T"}, Distribution::grid(kWalkRanks, tilings, dims, turn)};
}

/// P[i, a] = sum[j](W[i, j] * V[j, a]) + U[i, a], 64 rows i, 16 j, 8 a, in tiles of 2 rows. W is local, U on the next
/// rank, and V read whole by every task.
PlannedCase walk_over_rows() {
  OpBuilder builder(OpClass::kReduce, "P", 0, 1);
  builder.out("i", Index{64}).out("a", Index{8}).reduce("j", Index{16}).combine(Combine::kSum);
  builder.read(0, {tdsl::plan::at(0), tdsl::plan::at(2)})
      .read(1, {tdsl::plan::at(2), tdsl::plan::at(1)})
      .read(2, {tdsl::plan::at(0), tdsl::plan::at(1)});
  PlannedCase test;
  test.op = builder.op();
  test.op.outputs.push_back({100, {8, "f64"}, test.op.shape, "P"});
  test.plan.space = in_rows(100, 64, 8, 2, 0).distribution;
  test.plan.reduce = {Tiling::fixed(16, 16)};
  test.plan.super_block = {0, 0};
  test.tensors[0] = in_rows(0, 64, 16, 2, 0);
  test.tensors[1] = in_rows(1, 16, 8, 4, 0);
  test.tensors[2] = in_rows(2, 64, 8, 2, 1);
  return test;
}
constexpr Index kRemoteV = 12 * 8 * 8, kRemoteU = 16 * 8 * 8;  // bytes per rank

/// Fits the steps to `limit` bytes; returns the counts of every rank, after comparison with the enumeration.
std::vector<Counted> fitted_to(PlannedCase& test, Index limit) {
  PlanInputs inputs;
  inputs.ranks = kWalkRanks;
  inputs.memory = limit;
  inputs.reproducible = true;  // no thinner panels
  const TensorLookup tensors = test.lookup();
  fit_steps(test.op, test.plan, tensors, static_cast<double>(limit), inputs);
  const std::string wrong = Enumeration(test).violation();
  CHECK_MESSAGE(wrong.empty(), wrong);
  std::vector<Counted> counted;
  for (Index rank = 0; rank < kWalkRanks; ++rank) {
    counted.push_back(count(test.op, test.plan, tensors, rank));
    const Cost cost = cost_of(test.op, test.plan, tensors, rank, {}, 1);
    const std::string figure = outside(cost, counted.back(), test.op);
    CHECK_MESSAGE(figure.empty(), figure);
    CHECK(cost.bytes_received.lo == cost.bytes_received.hi);
  }
  return counted;
}

}  // namespace

TEST_CASE("kept operands: figures of random operations are those of one super-block") {
  Index several = 0;
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(40); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    PlannedCase test = OperationGenerator(random).make();
    std::map<int, int> written;  // for diagonal writes some figures are only bounded
    for (const OutSubscript& s : test.op.out) ++written[s.label];
    if (std::ranges::any_of(written, [](const auto& uses) { return uses.first >= 0 && uses.second > 1; })) continue;
    test.plan.kept.assign(test.op.reads.size(), true);
    PlannedCase once = test;
    once.plan.super_block.clear();
    const TensorLookup tensors = test.lookup();
    INFO("case ", n, ": ", test.describe());
    for (Index rank = 0; rank < test.plan.space.ranks(); ++rank) {
      const Cost cost = cost_of(test.op, test.plan, tensors, rank, {}, 1);
      const std::string wrong = outside(cost, count(test.op, test.plan, tensors, rank), test.op);
      REQUIRE_MESSAGE(wrong.empty(), wrong);
      const Cost other = cost_of(once.op, once.plan, tensors, rank, {}, 1);
      REQUIRE(cost.bytes_received.lo == other.bytes_received.lo);
      REQUIRE(cost.bytes_received.hi == other.bytes_received.hi);
      several += cost.bytes_received.hi > 0 && TaskSpace(test.op, test.plan, tensors).super_blocks(rank) > 1 ? 1 : 0;
    }
  }
  CHECK(several > 0);
}

TEST_CASE("kept operands: an operand of all super-blocks is received once, rows of one are held for it") {
  for (const Index limit : {kRemoteV + kRemoteU / 2, kRemoteV + kRemoteU / 4, kRemoteV + kRemoteU / 8, Index{1}}) {
    CAPTURE(limit);
    PlannedCase test = walk_over_rows();
    for (const Counted& counted : fitted_to(test, limit)) {
      CHECK(counted.bytes == kRemoteV + kRemoteU);
      CHECK(counted.peak_remote_bytes <= std::max(limit, kRemoteV + kRemoteU / 8));
    }
    CHECK(test.plan.super_block[0] > 0);
    CHECK(test.plan.super_block[1] == 0);
    CHECK(test.plan.kept == std::vector<bool>{false, true, false});
  }
}

TEST_CASE("kept operands: no super-blocks where they shrink no step") {
  PlannedCase test = walk_over_rows();
  test.op.reads.pop_back();  // without U
  for (const Counted& counted : fitted_to(test, 1)) CHECK(counted.bytes == kRemoteV);
  CHECK(test.plan.super_block == std::vector<Index>{0, 0});
  CHECK(test.plan.kept.empty());
}

TEST_CASE("kept operands: an operand that does not fit is fetched again") {
  PlannedCase test = walk_over_rows();
  test.plan.reduce = {Tiling::fixed(16, 4)};  // a step needs a quarter of V
  for (const Counted& counted : fitted_to(test, kRemoteV / 2 + kRemoteU / 4)) {
    CHECK(counted.bytes > kRemoteV + kRemoteU);
    CHECK(counted.peak_remote_bytes <= kRemoteV / 2 + kRemoteU / 4);
  }
  CHECK(std::ranges::none_of(test.plan.kept, [](bool kept) { return kept; }));
  // With more room it is kept, over smaller super-blocks than without it.
  test = walk_over_rows();
  test.plan.reduce = {Tiling::fixed(16, 4)};
  for (const Counted& counted : fitted_to(test, kRemoteV + kRemoteU / 4)) {
    CHECK(counted.bytes == kRemoteV + kRemoteU);
    CHECK(counted.peak_remote_bytes <= kRemoteV + kRemoteU / 4);
  }
  CHECK(test.plan.super_block[0] == 2);
  CHECK(test.plan.kept == std::vector<bool>{false, true, false});
}
