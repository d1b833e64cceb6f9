#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/op_builder.h"
#include "runtime/plan/space/candidates.h"
#include "runtime/plan/space/layout.h"
#include "runtime/plan/value/plan_value.h"

// Cuts by stored elements: operations follow those of the compressed tensors they read, of which whole blocks move.

using namespace tdsl::plan;

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
  op.outputs.push_back({100, {8, "f64"}, op.shape, "s"});
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
