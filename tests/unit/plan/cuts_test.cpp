#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/op_builder.h"
#include "runtime/plan/planner.h"
#include "runtime/plan/space/candidates.h"
#include "runtime/plan/space/layout.h"
#include "runtime/plan/value/plan_value.h"

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

// Cuts by stored elements: operations follow those of the compressed tensors they read, of which whole blocks move.

namespace {

const std::vector<Index> kStoredEnds = {10, 30, 60, 100};

/// A matrix of 100 rows, whole on four ranks in turn.
PlacedTensor in_cut_rows(TensorId id, const Tiling& rows, bool compressed) {
  const std::vector<GridDim> dims{GridDim{{{4, 1}}, 1}, GridDim{}};
  PlacedTensor tensor{{id, {8, "f64"}, {rows.extent(), 8}, "T"},
                      Distribution::grid(4, {rows, Tiling::fixed(8, 8)}, dims, 0)};
  if (!compressed) return tensor;
  tensor.desc.storage = compressed_rows();
  tensor.desc.stored = Estimate::exactly(200);
  return tensor;
}

/// Tensor 0 is dense and cut evenly, tensor 1 compressed and cut by stored elements.
std::optional<Candidate> realised(Op op, const std::string& layout) {
  const std::map<TensorId, PlacedTensor> tensors{{0, in_cut_rows(0, Tiling::near_equal(100, 4), false)},
                                                 {1, in_cut_rows(1, Tiling::at(kStoredEnds), true)}};
  if (op.outputs.empty()) op.outputs.emplace_back();
  TensorDesc& output = op.outputs.front();
  output.id = 100, output.element = {8, "f64"}, output.shape = op.shape, output.name = "s";
  PlanInputs inputs;
  inputs.ranks = 4;
  const Mesh mesh = meshes_of(4, 1).front();
  const Operands operands{[&](TensorId id) { return &tensors.at(id); },
                          [&](TensorId id) -> const TensorDesc& { return tensors.at(id).desc; },
                          {},
                          &mesh};
  return realise(op, *parse_layout(layout, slot_names(op), mesh), inputs, operands);
}

}  // namespace

TEST_CASE("stored cuts: blocks of a map of tasks are those of the operand") {
  OpBuilder builder(OpClass::kMap, "s", 0, 1);
  builder.out("i", Index{100}).read(0, {tdsl::plan::at(0), whole()}).read(1, {tdsl::plan::at(0), whole()}).flops(1);
  const std::optional<Candidate> alike = realised(builder.op(), "cyclic 4 on 4");
  REQUIRE(alike);
  CHECK(alike->plan.space.tiling(0) == Tiling::at(kStoredEnds));
  // Its four tiles are not eight blocks.
  const std::optional<Candidate> finer = realised(builder.op(), "cyclic 8 on 4");
  REQUIRE(finer);
  CHECK(finer->plan.space.tiling(0).tiles() % 8 == 0);
}

TEST_CASE("stored cuts: panels are those of the compressed operand, wherever it is read") {
  for (const bool first : {true, false}) {
    OpBuilder builder(OpClass::kReduce, "s", 0, 1);
    builder.reduce("i", Index{100}).reduce("k", Index{8}).combine(Combine::kSum).flops(1);
    const std::vector<DimAccess> dense{tdsl::plan::at(0), tdsl::plan::at(1)}, stored{tdsl::plan::at(0), whole()};
    first ? builder.read(1, stored).read(0, dense) : builder.read(0, dense).read(1, stored);
    const std::optional<Candidate> spread = realised(builder.op(), "i:ba");
    REQUIRE(spread);
    CHECK(spread->partial);
    CHECK(spread->plan.reduce[0] == Tiling::at(kStoredEnds));
  }
}

TEST_CASE("stored cuts: parts of a transposition list the elements of the operand's rows") {
  TensorDesc moved = in_cut_rows(1, Tiling::at(kStoredEnds), true).desc;
  OpBuilder builder(OpClass::kReduce, "T", 0, 1);
  builder.label("i", Interval{0, 8}).reduce("j", Index{100}).write({8, 100}, {{0, 1, 0}, {kAnyLabel, 1, 0}});
  builder.read(1, {tdsl::plan::at(1), whole()}).combine(Combine::kSum).flops(0).stored_elements_of({&moved}).moves();
  CHECK(builder.op().is_uncut(1));
  const std::optional<Candidate> lists = realised(builder.op(), "j:ba");
  REQUIRE(lists);
  CHECK(lists->partial);
  CHECK(lists->op.outputs.front().storage.entries);
  CHECK(lists->op.outputs.front().stored == Estimate{0, 200, 200});
  CHECK(lists->plan.reduce[0] == Tiling::at(kStoredEnds));
  // Unsplit, a task reads all rows at once.
  const std::optional<Candidate> whole_rows = realised(builder.op(), "i:ba");
  REQUIRE(whole_rows);
  CHECK_FALSE(whole_rows->partial);
  CHECK(whole_rows->plan.reduce[0].tiles() == 1);
}
