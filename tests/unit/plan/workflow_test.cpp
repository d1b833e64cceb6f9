#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "runtime/plan/workflow/workflow.h"
#include "tests/unit/plan/regions.h"

using namespace tdsl::plan;
using tdsl::tests::RegionWriter;

namespace {

using Grid = std::vector<Index>;

/// C[i, j] = sum[k](A[i, k] * B[k, j])
Region tiled_product(Index n, Index k, Index m) {
  RegionWriter r({{'i', n}, {'k', k}, {'j', m}});
  const TensorId A = r.load("A", "ik"), B = r.load("B", "kj");
  return r.finish({r.op("C", "ij", {{A, "ik"}, {B, "kj"}})});
}

PlanInputs tiled(std::vector<Index> tile) {
  PlanInputs inputs;
  inputs.tile = std::move(tile);
  return inputs;
}

std::vector<TaskNumber> blocks_of(const Workflow& workflow, TaskNumber apply) {
  std::vector<TaskNumber> blocks;
  for (const TaskInput& input : workflow.blocks_of(workflow.task(apply))) blocks.push_back(input.task);
  return blocks;
}

std::map<TaskKind, int> counted(const Workflow& workflow) {
  std::map<TaskKind, int> count;
  for (const WorkflowTask& task : workflow.tasks) ++count[task.kind];
  return count;
}

}  // namespace

TEST_CASE("block grid: NumS's automatic grids") {
  CHECK(automatic_grid({{1000000000, 250}, 8, {1, 1}, 64}) == Grid{64, 1});
  CHECK(automatic_grid({{1000000000, 250}, 8, {16, 1}, 1024}) == Grid{1024, 1});
  CHECK(automatic_grid({{10000, 10000}, 8, {1, 1}, 64}) == Grid{8, 8});
  CHECK(automatic_grid({{10000, 10000}, 8, {1, 1}, 6}) == Grid{3, 2});
  CHECK(automatic_grid({{10000, 10000}, 8, {1, 1}, 7}) == Grid{4, 2});
  CHECK(automatic_grid({{1000, 1000, 1000}, 8, {1}, 64}) == Grid{4, 4, 4});
  CHECK(automatic_grid({{3000, 4000}, 8, {1, 1}, 64}) == Grid{1, 1});  // 96 MB
  CHECK(automatic_grid({{3000, 4000}, 8, {1, 1}, 64, 64000}) == Grid{5, 12});
  CHECK(automatic_grid({{}, 8, {4, 1}, 4}).empty());
  CHECK(automatic_grid({{0, 5}, 8, {4, 1}, 4, 0}) == Grid{1, 1});
}

TEST_CASE("workflow: a product of 2 x 2 blocks") {
  const Region region = tiled_product(4, 4, 4);
  const Workflow workflow = workflow_of(region, tiled({2}), {});
  CHECK(counted(workflow) ==
        std::map<TaskKind, int>{
            {TaskKind::kLoad, 8}, {TaskKind::kPair, 8}, {TaskKind::kApply, 8}, {TaskKind::kReduce, 4}});
  const std::string text = print(workflow, region);
  CHECK(text.substr(0, text.find('\n')) == "workflow of 28 tasks");
  for (const char* line : {"\n0 load A[0, 0]\n", "\n7 load B[1, 1]\n", "\n8 pair C[0, 0] panel [0] of 0 4\n",
                           "\n9 apply C[0, 0] panel [0] of 8\n", "\n10 pair C[0, 0] panel [1] of 1 6\n",
                           "\n24 reduce C[0, 0] of 9 11\n", "\n27 reduce C[1, 1] of 21 23\n"}) {
    CHECK_MESSAGE(text.find(line) != std::string::npos, text);
  }
  CHECK(workflow.ops[2].result == std::vector<TaskNumber>{24, 25, 26, 27});
  CHECK(workflow.task(9).flops == 8);
  CHECK(workflow.task(8).bytes == 64);
  const std::string dot = print_dot(workflow, region);
  CHECK(dot.find("  t9 [label=\"apply C[0, 0] panel [0]\"];\n") != std::string::npos);
  CHECK(dot.find("  t8 -> t9;\n") != std::string::npos);
}

TEST_CASE("workflow: operands are paired from the left, every block once") {
  RegionWriter r({{'i', 4}, {'j', 4}, {'k', 4}});
  const TensorId X = r.load("X", "ki"), w = r.constant("w", ""), v = r.load("v", "k");
  const TensorId G = r.op("G", "ij", {{X, "ki"}, {v, "k"}, {X, "kj"}, {w, ""}});
  const TensorId H = r.whole("H", "ij", {G});
  const Region region = r.finish({H});
  const Workflow workflow = workflow_of(region, tiled({2}), {});
  const WorkflowOp& gram = workflow.ops[3];
  CHECK(gram.joins == 3);
  const auto blocks = [&](Index block, Index panel) {
    for (TaskNumber n = gram.first; n < gram.end; ++n) {
      const WorkflowTask& task = workflow.task(n);
      if (task.kind == TaskKind::kApply && task.block == block && task.panel == panel) return blocks_of(workflow, n);
    }
    return std::vector<TaskNumber>{};
  };
  CHECK(blocks(1, 1) == std::vector<TaskNumber>{2, 6, 3, 4});  // X[1, 0], v[1], X[1, 1], w
  CHECK(blocks(0, 1) == std::vector<TaskNumber>{2, 6, 4});     // on the diagonal X[1, 0] is read once
  // One task reads all blocks.
  const WorkflowOp& whole = workflow.ops[4];
  CHECK(whole.result.size() == 1);
  CHECK(blocks_of(workflow, whole.result[0]) == gram.result);
  CHECK(gram.level == 0);
  CHECK(whole.level == 1);
}

TEST_CASE("workflow: neighbours, bases and strides") {
  std::vector<TensorId> ids;
  Region region;
  const auto record = [&](OpBuilder builder, std::vector<Index> shape) {
    builder.op().outputs = {
        {static_cast<TensorId>(region.ops.size()), {8, "f64"}, std::move(shape), builder.op().name}};
    region.ops.push_back({builder.op(), 1, 0, {}});
  };
  record(std::move(OpBuilder(OpClass::kLoad, "a", 1, 1).out("i", Index{9})), {9});
  record(std::move(OpBuilder(OpClass::kMap, "b", 2, 1).out("i", Interval{1, 8}).read(0, {near(0, -1, 2)})), {7});
  record(std::move(
             OpBuilder(OpClass::kMap, "c", 3, 1).label("i", {0, 2}).write({9}, {{0, 1, 0}}).base(0).read(1, {at(0)})),
         {9});
  const Workflow workflow = workflow_of(region, tiled({3}), {});
  const auto blocks = [&](std::size_t op, std::size_t block) {
    return blocks_of(workflow, workflow.ops[op].result[block]);
  };
  CHECK(blocks(1, 0) == std::vector<TaskNumber>{0, 1});  // b[0..3) reads a[0..5)
  CHECK(blocks(1, 1) == std::vector<TaskNumber>{1, 2});
  CHECK(workflow.blocks_of(workflow.task(workflow.ops[1].result[1]))[1].bytes == 16);
  CHECK(blocks(1, 2) == std::vector<TaskNumber>{2});
  CHECK(blocks(2, 0) == std::vector<TaskNumber>{0, workflow.ops[1].result[0]});  // written: the base's block and b's
  CHECK(blocks(2, 1) == std::vector<TaskNumber>{1});                             // kept
}

TEST_CASE("workflow: results are cut as operands are, sources by the automatic grid") {
  RegionWriter r({{'i', 100000}, {'j', 64}, {'k', 64}});
  const TensorId X = r.load("X", "ij"), w = r.constant("w", "j");
  const TensorId z = r.op("z", "i", {{X, "ij"}, {w, "j"}});
  const TensorId C = r.op("C", "jk", {{X, "ij"}, {z, "i"}, {X, "ik"}});
  const Region region = r.finish({C});
  const std::vector<BlockCut> cuts = block_cuts(region, {}, {{1}, 4});
  CHECK(cuts[0].out[0].tiles() == 4);
  CHECK(cuts[0].out[1].tiles() == 1);
  CHECK(cuts[1].out[0].tiles() == 1);
  CHECK(cuts[2].out[0].tiles() == 4);
  CHECK(cuts[3].out[0].tiles() == 1);
  CHECK(cuts[3].reduce[0].tiles() == 4);
}

TEST_CASE("workflow: too many tasks are refused") {
  const Region region = tiled_product(40, 40, 40);
  CHECK(workflow_of(region, tiled({4}), {}, 2300).tasks.size() == 200 + 2000 + 100);
  for (const Index most : {2299, 1500, 1299, 200, 199, 1})
    CHECK_THROWS_AS((void)workflow_of(region, tiled({4}), {}, most), NoPlan);
  CHECK_THROWS_WITH_AS(workflow_of(tiled_product(4000, 4000, 4000), tiled({4}), {}),
                       "the task workflow has more than 1000000 tasks; a larger --tile gives fewer", NoPlan);
}
