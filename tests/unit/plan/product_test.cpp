#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "tests/unit/plan/counting.h"

using namespace tdsl::plan;
using tdsl::tests::Recorder;

namespace {

/// Elements of the tensor, needed in `rows` x `columns`, that the rank does not own: from owner lists, independent of
/// the cost model.
double lacking(const Distribution& d, Index rank, const Distribution& space, bool rows_by_space) {
  double needed = 1;
  double own = 1;
  for (int k = 0; k < 2; ++k) {
    const bool bound = rows_by_space == (k == 0);
    std::vector<bool> wanted(static_cast<std::size_t>(d.tiling(k).extent()), !bound);
    if (bound) {
      for (const Index t : space.owned_along(rank, k)) {
        const Interval tile = space.tiling(k).tile(t);
        std::fill(wanted.begin() + tile.lo, wanted.begin() + tile.hi, true);
      }
    }
    Index both = 0;
    for (const Index t : d.owned_along(rank, k)) {
      const Interval tile = d.tiling(k).tile(t);
      both += std::count(wanted.begin() + tile.lo, wanted.begin() + tile.hi, true);
    }
    needed *= static_cast<double>(std::count(wanted.begin(), wanted.end(), true));
    own *= static_cast<double>(both);
  }
  return needed - own;
}

}  // namespace

TEST_CASE("product of 10^6 cubes: balanced work and few bytes for p = 4..16 and 31, without running") {
  const Index n = 1'000'000;
  for (const Index ranks : {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 31}) {
    PlanInputs inputs;
    inputs.ranks = ranks;
    Recorder recorder(inputs);
    const TensorId a = recorder.source("A", {n, n});
    const TensorId b = recorder.source("B", {n, n});
    recorder.product(a, false, b, false, n, n, n);
    const auto planned = recorder.run();
    double most_work = 0, all_work = 0, most_received = 0;
    for (Index rank = 0; rank < ranks; ++rank) {
      double work = 0, received = 0;
      for (const auto& op : planned) {
        const Cost cost = cost_of(op->op, op->plan, recorder.planner.lookup(), rank, inputs.machine, 1);
        CHECK(cost.received_elements.lo == cost.received_elements.hi);
        work += cost.flops.hi;
        received += cost.received_elements.hi;
      }
      const PlannedOp& product = *planned.back();
      if (product.op.op_class == OpClass::kContraction && (rank == 0 || rank == ranks - 1)) {
        const Distribution& space = product.plan.space;
        CHECK(received == lacking(recorder.planner.tensor(a).distribution, rank, space, true) +
                              lacking(recorder.planner.tensor(b).distribution, rank, space, false));
      }
      most_work = std::max(most_work, work);
      all_work += work;
      most_received = std::max(most_received, received);
    }
    const auto p = static_cast<double>(ranks);
    const double balance = most_work * p / all_work;
    const double bound = 2 * (std::sqrt(p) - 1) / p * static_cast<double>(n) * static_cast<double>(n);
    std::cout << "product p=" << ranks << ": max/mean work " << balance << ", received " << most_received / bound
              << " of 2(sqrt p - 1)/p n^2; " << planned.back()->plan.space.describe({"i", "j"}) << '\n';
    CHECK(balance <= 1.02);
    CHECK(most_received <= 1.10 * bound);
  }
}
