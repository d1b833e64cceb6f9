#include <doctest/doctest.h>

#include "runtime/plan/op_builder.h"
#include "runtime/plan/planner.h"

using namespace tdsl::plan;

namespace {

/// Plans `op` after its operand, a random source of that shape that an elementwise operation has placed first.
struct Case {
  Planner planner;
  TensorId next = 0;
  TensorId operand = -1;

  Case(Index ranks, std::vector<Index> tile, const std::vector<Index>& shape, bool placed)
      : planner(inputs(ranks, std::move(tile))) {
    OpBuilder source(OpClass::kSource, "A", 1, 1);
    for (const Index extent : shape) source.out("i", extent);
    operand = record(source.op());
    if (!placed) return;
    OpBuilder copy(OpClass::kMap, "B", 2, 1);
    std::vector<DimAccess> dims;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      copy.out("i", shape[d]);
      dims.push_back(at(static_cast<int>(d)));
    }
    copy.read(operand, dims);
    operand = record(copy.op());
  }

  static PlanInputs inputs(Index ranks, std::vector<Index> tile) {
    PlanInputs result;
    result.ranks = ranks;
    result.tile = std::move(tile);
    return result;
  }

  TensorId record(Op op) {
    const TensorId id = next++;
    op.outputs = {{id, {8, "f64"}, op.shape, op.name}};
    Segment segment;
    segment.ops.push_back(std::move(op));
    planner.plan(std::move(segment));
    return id;
  }
};

}  // namespace

TEST_CASE("plan: an uncut dimension has one tile on any number of ranks and with any --tile") {
  for (const Index ranks : {1, 2, 3, 4, 7}) {
    for (const std::vector<Index>& tile : std::vector<std::vector<Index>>{{}, {1}, {3}, {2, 5}}) {
      for (const bool placed : {false, true}) {
        Case c(ranks, tile, {400, 300}, placed);
        OpBuilder sort(OpClass::kMap, "S", 3, 1);
        sort.out("i", 400).out("j", 300).uncut().read(c.operand, {at(0), whole()}).flops(40);
        const Distribution& d = c.planner.tensor(c.record(sort.op())).distribution;
        CHECK(d.tiling(1).tiles() == 1);
        Index owners = 0;
        for (Index rank = 0; rank < ranks; ++rank) {
          if (d.owned_tiles(rank) > 0) ++owners;
        }
        // The other dimension is distributed over all ranks.
        CHECK(owners == ranks);
      }
    }
  }
}

TEST_CASE("plan: an operation with all dimensions uncut is one task") {
  for (const Index ranks : {1, 2, 5}) {
    for (const std::vector<Index>& tile : std::vector<std::vector<Index>>{{}, {1}, {7}}) {
      Case c(ranks, tile, {600, 600}, true);
      OpBuilder factor(OpClass::kMap, "L", 3, 1);
      factor.out("i", 600).uncut().out("j", 600).uncut().read(c.operand, {whole(), whole()}).flops(200);
      CHECK(factor.op().is_one_task());
      CHECK(c.planner.tensor(c.record(factor.op())).distribution.tile_count() == 1);
    }
  }
}
